(() => {
  'use strict';
  const all = (selector, root) => [...(root || document).querySelectorAll(selector)];
  const by = (id) => document.getElementById(id);
  const count = (number) => number.toLocaleString('en');
  const many = (number) => `${count(number)} event${number === 1 ? '' : 's'}`;
  const query = by('q'), errors = by('errors'), said = by('said');
  const episodes = all('.ep');
  const events = episodes.map((episode) => all('.ev', episode));
  const texts = new Map();
  const opened = new Set();
  let found = [], at = -1;
  document.documentElement.classList.add('js');

  const textOf = (element) => {
    let text = texts.get(element);
    if (text === undefined) {
      // Not what the page itself says of each.
      text = all('summary, pre, code, small', element).map((part) => part.textContent).join('\n').toLowerCase();
      texts.set(element, text);
    }
    return text;
  };

  const look = () => {
    const wanted = query.value.trim().toLowerCase();
    found = [];
    at = -1;
    let total = 0;
    episodes.forEach((episode, i) => {
      const whole = !wanted || episode.querySelector('summary').textContent.toLowerCase().includes(wanted);
      let some = false;
      for (const event of events[i]) {
        total += 1;
        const hit = (!errors.checked || event.classList.contains('err')) &&
          (!wanted || textOf(event).includes(wanted));
        event.hidden = !(hit || (whole && !errors.checked));
        event.classList.remove('now');
        if (hit) {
          found.push(event);
          some = true;
        }
      }
      episode.hidden = !(some || (whole && !errors.checked));
      if (wanted && some && !episode.open) {
        episode.open = true;
        opened.add(episode);
      }
    });
    if (!wanted) {
      for (const episode of opened) episode.open = false;
      opened.clear();
    }
    said.value = wanted || errors.checked ? `${found.length ? count(found.length) : 'none'} of ${many(total)}` : many(total);
  };

  const show = (event) => {
    for (let parent = event.parentElement; parent; parent = parent.parentElement) {
      if (parent.tagName === 'DETAILS') {
        parent.open = true;
        parent.hidden = false;
      }
    }
    event.hidden = false;
    event.open = true;
    event.querySelector('summary').focus({ preventScroll: true });
    event.scrollIntoView({ block: 'center' });
  };

  const go = (step) => {
    if (!found.length) return;
    if (at >= 0) found[at].classList.remove('now');
    at = (at + step + found.length) % found.length;
    if (at < 0) at = 0;
    found[at].classList.add('now');
    show(found[at]);
    said.value = `${count(at + 1)} of ${many(found.length)}`;
  };

  const arrive = () => {
    const target = /^#[et][0-9]+$/.test(location.hash) && by(location.hash.slice(1));
    if (target) show(target);
  };

  // What a bar of a timeline stands for, once it is asked.
  document.addEventListener('pointerover', (event) => {
    const bar = event.target.closest('.chart a');
    const of = bar && !bar.querySelector('title') && by(bar.getAttribute('href').slice(1));
    if (of) {
      const title = document.createElementNS(bar.namespaceURI, 'title');
      title.textContent = of.querySelector('summary').textContent;
      bar.append(title);
    }
  });

  let timer;
  query.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(look, 150);
  });
  errors.addEventListener('change', look);
  by('find').addEventListener('submit', (event) => {
    event.preventDefault();
    clearTimeout(timer);
    if (at < 0) look();
    go(1);
  });
  by('next').addEventListener('click', () => go(1));
  by('previous').addEventListener('click', () => go(at < 0 ? 0 : -1));
  by('open').addEventListener('click', () => episodes.forEach((episode) => { episode.open = true; }));
  by('close').addEventListener('click', () => all('details').forEach((details) => { details.open = false; }));
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === '/' && event.target !== query) {
      event.preventDefault();
      query.focus();
    } else if (event.key === 'Escape' && event.target === query) {
      query.value = '';
      look();
    }
  });
  addEventListener('hashchange', arrive);
  look();
  arrive();
})();
