"""Reads training files with `datasets` and renders them by the chat templates of the installed `trl`: see main.rs.

Usage: check.py FOLDER. Prints what was checked; any failure ends it.
"""

import importlib.util
import json
import re
import sys
from pathlib import Path

from datasets import Dataset, load_dataset
from datasets.utils.logging import disable_progress_bar
from transformers.utils.chat_template_utils import render_jinja_template

FOLDER = Path(sys.argv[1])
BIG = "9007199254740993"
HUGE = "18446744073709551616"
# Templates that must take each form: some of those of today's `trl`. Others are tried, and may refuse roles or tools.
WANTED = {
    "templates": {"qwen2_5", "qwen3", "qwen3_6", "llama3_1", "llama3_2", "gptoss", "glm4moe", "nemotron_3_nano", "gemma4"},
    "templates_strings": {"qwen3", "qwen3_instruct_2507", "gemma4", "deepseekv3"},
    "openai": {"qwen3", "qwen3_instruct_2507", "gemma4", "deepseekv3"},
}


def lines(name):
    with open(FOLDER / name, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def has_none(value):
    if isinstance(value, dict):
        return any(has_none(one) for one in value.values())
    if isinstance(value, list):
        return any(has_none(one) for one in value)
    return value is None


def loaded(path):
    return load_dataset("json", data_files=str(path), split="train", cache_dir=str(FOLDER / "cache"))


def rows(dataset):
    """The examples, without the columns that an example does not have."""
    return [{key: value for key, value in row.items() if value is not None} for row in dataset]


def loads_with_datasets(path):
    """Each file loads, and what comes out is what is in it: no number is rounded, nothing in it becomes `None`."""
    examples = lines(path.name)
    assert rows(loaded(path)) == examples, path
    assert rows(Dataset.from_list(examples, on_mixed_types="use_json")) == examples, path


def the_shape(folder):
    """The default is what the agreed function makes of the agreed document."""
    for path in sorted(folder.glob("plain_*.json")):
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        assert list(document) == ["task_description", "tool_calls", "final_answer", "success", "total_reward"]
        messages = [None, {"role": "user", "content": document["task_description"]}]
        for number, call in enumerate(document["tool_calls"]):
            assert list(call) == ["timestamp", "tool_name", "arguments", "result", "duration_ms", "is_error"]
            assert isinstance(call["timestamp"], float) and isinstance(call["duration_ms"], float)
            key = f"call_{number:04d}"
            function = {"name": call["tool_name"], "arguments": json.dumps(call["arguments"])}
            messages.append({"role": "assistant", "content": None, "tool_calls": [{"id": key, "type": "function", "function": function}]})
            messages.append({"role": "tool", "content": json.dumps(call["result"]), "tool_call_id": key})
        messages.append({"role": "assistant", "content": document["final_answer"]})
        metadata = {"success": document["success"], "reward": document["total_reward"], "num_tool_calls": len(document["tool_calls"])}
        task = document["task_description"]
        example = next(one for one in lines("sft_openai.jsonl") if one["messages"][1]["content"] == task)
        # Where the user goes on, which the agreed document does not tell, there is a message more.
        told = [one for one in example["messages"] if one["role"] != "user" or one["content"] == task]
        assert told[0]["role"] == "system" and told[1:] == messages[1:], path
        assert example["metadata"] == metadata and list(example) == ["messages", "metadata"], path
        assert [list(one) for one in told[1:]] == [list(one) for one in messages[1:]], path


def numbers(folder):
    """Numbers that no double holds are there to the digit."""
    for path in sorted(folder.glob("sft_*.jsonl")):
        text = path.read_text(encoding="utf-8")
        assert BIG in text and HUGE in text, path
    for name in ("sft_openai.jsonl", "sft_templates_strings.jsonl"):
        call = lines(name)[0]["messages"][2]["tool_calls"][0]["function"]["arguments"]
        assert isinstance(call, str) and json.loads(call) == {"a": 1, "b": int(BIG)}, name
    assert lines("sft_templates.jsonl")[0]["messages"][2]["tool_calls"][0]["function"]["arguments"]["b"] == int(BIG)


def rendered(template, example):
    tools = json.loads(example["tools"]) if "tools" in example else None
    special = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
    out, _ = render_jinja_template([example["messages"]], tools=tools, chat_template=template, **special)
    return out[0]


def templates(folder):
    """Chat templates write neither "None" nor arguments that are encoded twice."""
    where = Path(importlib.util.find_spec("trl").submodule_search_locations[0]) / "chat_templates"
    files = sorted(where.glob("*.jinja"))
    assert len(files) > 10, where
    counts = {}
    for form in ("openai", "templates", "templates_strings", "templates_parallel", "templates_think"):
        # What a trainer sees: out of columns.
        examples = rows(loaded(FOLDER / f"sft_{form}.jsonl"))
        taken = set()
        for file in files:
            template = file.read_text(encoding="utf-8")
            for example in examples:
                try:
                    text = rendered(template, example)
                except Exception:  # it has no tools, or other roles
                    continue
                if not any(name in text for name in ("add", "search", "look")):
                    continue  # it drops calls
                doubled = '\\"a\\"' in text or '\\"query\\"' in text
                none = re.search(r"\bNone\b|\bnull\b", text)
                if (form in ("openai", "templates_strings") and doubled) or (form == "openai" and none):
                    continue  # it encodes strings once more, or writes `None`: that is what the other form is for
                assert not doubled and not none, (form, file.name, text)
                if example["messages"][1]["content"].startswith("What"):
                    taken.add(file.stem)
        missing = WANTED.get(form, set()) - taken
        assert not missing, (form, missing)
        counts[form] = len(taken)
    return counts


def texts(folder):
    """Conversations of text: what is between tags is JSON, with every number."""
    calls = 0
    for example in lines("sft_hermes.jsonl"):
        for message in example["conversations"]:
            assert set(message) == {"from", "value"} and message["value"], message
            for tag in ("tool_call", "tool_response"):
                if message["from"] == "system":
                    continue
                for inside in re.findall(rf"<{tag}>\n(.*?)\n</{tag}>", message["value"], re.S):
                    one = json.loads(inside)
                    assert isinstance(one["name"], str), one
                    calls += tag == "tool_call"
                    assert not isinstance(one.get("arguments", {}), str), one
    assert calls == 6, calls


def main():
    disable_progress_bar()
    numbers(FOLDER)
    the_shape(FOLDER)
    texts(FOLDER)
    for path in sorted(FOLDER.glob("sft_*.jsonl")):
        loads_with_datasets(path)
        print(f"training: {path.name} loads")
    for path in ("recording.jsonl", "merged.jsonl"):
        assert all(isinstance(one, dict) for one in lines(path))
    for example in lines("sft_templates.jsonl"):
        assert not has_none(example), example
    for form, count in templates(FOLDER).items():
        print(f"training: {form}: {count} chat templates")


main()
