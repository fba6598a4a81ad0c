//! Training examples from trajectories (feature `trajectory`).
//!
//! What was [recorded](super::trajectories) becomes a file that trainers read, an example a line:
//!
//! ```no_run
//! # #[cfg(feature = "trajectory")] {
//! use std::fs::File;
//! use std::io::BufWriter;
//! use tinymcp::trajectory::{Keep, Selection, SftOptions, ToolsForm, Trajectories};
//!
//! # fn count_tokens(text: &str) -> usize { text.len() / 4 }
//! let options = SftOptions::templates()
//!     .with_tools(ToolsForm::Text)
//!     .with_parallel_calls()
//!     .with_limit(8192, Keep::End, count_tokens); // your tokenizer's count
//! let good = Trajectories::open("episodes.jsonl")?.select(Selection::new().success(true).complete());
//! let written = options.write(good, BufWriter::new(File::create("train.jsonl")?))?;
//! println!("{} examples; {} trajectories are too long", written.examples, written.too_long);
//! # }
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # Which form?
//!
//! | for | options | what is in a line |
//! |---|---|---|
//! | OpenAI's API, and the shape that [`trajectory_to_sft_example`](crate::trajectory::trajectory_to_sft_example) has | [`SftOptions::new`](crate::trajectory::SftOptions::new) | `messages`: `arguments` are JSON strings, `content` is `null` beside calls |
//! | trainers that render messages by a model's chat template, such as `trl` | [`SftOptions::templates`](crate::trajectory::SftOptions::templates) | `messages`: `arguments` are objects, nothing is `null` |
//! | Anthropic's messages | [`SftOptions::anthropic`](crate::trajectory::SftOptions::anthropic) | `system` and `messages` of blocks |
//! | Hermes models, trainers that read ShareGPT files | [`SftOptions::hermes`](crate::trajectory::SftOptions::hermes) | `conversations` of text with `<tool_call>` |
//!
//! Each also has `metadata`: `success`, `reward`, `num_tool_calls`, and `omitted_tool_calls` if a limit left some out.
//!
//! Two things spoil training data quietly, and are why there is a form for templates. A template that encodes arguments by itself
//! makes of a JSON *string* a string in a string, and the model learns to write `"{\"a\": 1}"`. And many templates write `None` where
//! `content` is `null`, or fail. Of the templates that `trl` ships, a few take strings (Qwen 3 among them), most want objects, and
//! almost none mind an empty `content`.
//!
//! # Columns
//!
//! A reader that keeps examples in columns may give all objects of a column the same members. Two calls with different arguments, or
//! two tools with different schemas, then each have the members of both, those of the other as `null`. `datasets` 5 does not do that:
//! it keeps such columns as JSON. With an older version use [`ToolsForm::Text`](crate::trajectory::ToolsForm::Text), which trainers
//! parse, and remove what is `None` from messages. Numbers of more than 64 bits are for none of them: where those occur in arguments,
//! [`ArgumentsForm::Text`](crate::trajectory::ArgumentsForm::Text) keeps them.
//!
//! # What an example is made of
//!
//! - The system message: the one that was recorded, or else that of the options. The task is the user's message.
//! - A call is a message of the assistant, and its result a message of the tool. With
//!   [`with_parallel_calls`](crate::trajectory::SftOptions::with_parallel_calls) the calls of one
//!   [turn](crate::trajectory::Recording::next_turn) are one message.
//! - What the model thought and said beside its calls is what turns were told. Thoughts are written if they are
//!   [wanted](crate::trajectory::SftOptions::with_reasoning).
//! - Of a result its texts are written, as [`ResultForm`](crate::trajectory::ResultForm) says; pictures and sounds
//!   [on request](crate::trajectory::SftOptions::with_media), or all of it as JSON.
//! - The final answer, also if it is empty, unless that is [unwanted](crate::trajectory::SftOptions::without_empty_answer).
//!
//! A [limit](crate::trajectory::SftOptions::with_limit) leaves out whole calls with their results, from the beginning or from the end.
