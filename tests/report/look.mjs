// Looks at the page of a recording in Chromium: node look.mjs PAGE EVENTS EPISODES. See main.rs, which sets what is in the environment.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const { TINYMCP_BROWSER, TINYMCP_PUPPETEER, TINYMCP_PROFILE } = process.env;
const require = createRequire(join(TINYMCP_PUPPETEER, 'package.json'));
const { default: puppeteer } = await import(pathToFileURL(require.resolve('puppeteer-core')));
const [file, events, episodes] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];
mkdirSync(TINYMCP_PROFILE);

const browser = await puppeteer.launch({
  executablePath: TINYMCP_BROWSER,
  headless: true,
  userDataDir: TINYMCP_PROFILE,
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
    '--disable-component-update', '--disable-sync'],
});

// A page of which all is noticed that it must not do.
const watched = async () => {
  const page = await browser.newPage();
  const seen = { requests: [], noise: [] };
  page.on('request', (request) => seen.requests.push(request.url()));
  page.on('console', (message) => seen.noise.push(`console: ${message.text()}`));
  page.on('pageerror', (error) => seen.noise.push(`error: ${error.message}`));
  page.on('popup', () => seen.noise.push('a window'));
  page.on('dialog', (dialog) => {
    seen.noise.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  await page.exposeFunction('attacked', () => seen.noise.push('attacked'));
  await page.exposeFunction('violated', (what) => seen.noise.push(`policy: ${what}`));
  await page.evaluateOnNewDocument(() => {
    addEventListener('securitypolicyviolation', (event) => violated(`${event.violatedDirective} ${event.blockedURI}`));
  });
  return { page, seen };
};

const step = async (name, run) => {
  try {
    await run();
    console.log(`report: ${name}`);
  } catch (error) {
    console.log(`report: FAILED: ${name}`);
    throw error;
  }
};

try {
  await step('what a page must not do would be noticed', async () => {
    const bad = `${file}.bad.html`;
    writeFileSync(bad, `<!DOCTYPE html><meta http-equiv="Content-Security-Policy" content="style-src 'none'">
      <img src="missing.png" onerror="attacked()"><p style="color:red">x</p><script>alert('x'); nothing();</script>`);
    const { page, seen } = await watched();
    await page.goto(pathToFileURL(bad));
    await page.waitForNetworkIdle();
    for (const wanted of ['attacked', 'dialog: x', 'error: nothing', 'policy: style-src']) {
      assert(seen.noise.some((noise) => noise.startsWith(wanted)), `${wanted}: ${JSON.stringify(seen)}`);
    }
    assert.equal(seen.requests.length, 2);
    await page.close();
  });

  const { page, seen } = await watched();
  const url = String(pathToFileURL(file));
  await page.setViewport({ width: 1200, height: 900 });
  const said = () => page.$eval('#said', (output) => output.value);
  const says = (text) => page.waitForFunction((text) => document.getElementById('said').value === text, {}, text);
  const visible = (selector) => page.$$eval(selector, (all) => all.filter((one) => one.checkVisibility()).length);
  const search = async (text) => {
    await page.click('#q', { count: 3 });
    await page.keyboard.press('Backspace');
    await page.keyboard.type(text);
  };

  await step('it opens from a file', async () => {
    await page.goto(url);
    assert.match(await page.title(), /many\.jsonl$/);
    assert.equal(await said(), `${events} events`);
    assert.equal((await page.$$('.ev')).length, events);
    for (const heading of ['Calls over time, per server', 'Reward per episode', 'Tools', 'Trajectories']) {
      assert(await page.$$eval('h2', (all, heading) => all.some((one) => one.textContent === heading), heading), heading);
    }
    assert.equal(await visible('#rewards circle, #rewards .cross'), (await page.$$('.ep')).length);
  });

  await step('hostile content makes no element and no attribute', async () => {
    const found = await page.evaluate(() => ({
      foreign: document.querySelectorAll('img, iframe, link, base, object, embed, frame, video, audio, foreignObject, [src], [srcdoc], [style], [autofocus]').length,
      handlers: [...document.querySelectorAll('*')].filter((one) => one.getAttributeNames().some((name) => name.startsWith('on'))).length,
      scripts: document.scripts.length,
      styles: document.querySelectorAll('style').length,
      away: [...document.querySelectorAll('[href]')].filter((one) => !/^#[a-z]+[0-9]*$/.test(one.getAttribute('href'))).length,
      text: document.body.innerText.includes('</script><script>attacked()</script>'),
    }));
    assert.deepEqual(found, { foreign: 0, handlers: 0, scripts: 1, styles: 1, away: 0, text: true });
  });

  const episode = (await page.$$('.ep'))[(await page.$$('.ep')).length - 1];
  await step('a click unfolds a trajectory, its call and the arguments', async () => {
    const call = await episode.$('.ev:has(.sv)');
    assert.equal(await call.$eval('pre', (pre) => pre.checkVisibility()), false);
    await (await episode.$('summary')).click();
    await (await call.$('summary')).click();
    const text = await call.$eval('pre', (pre) => pre.checkVisibility() && pre.innerText);
    assert.match(text, /"from": 9007199254740993,\n/);
    assert(await call.evaluate((one) => one.innerText.includes('😀 and U+202Egnirts')), 'the result');
    await (await call.$('summary')).click();
    assert.equal(await call.$eval('pre', (pre) => pre.checkVisibility()), false);
    await (await episode.$('summary')).click();
  });

  await step('a search finds and counts, and goes from one to the next', async () => {
    await search('SRC/Parser_2.rs');
    await says(`${episodes} of ${events} events`);
    assert.deepEqual([await visible('.ep'), await visible('.ev')], [episodes, episodes]);
    const now = () => page.$$eval('.ev.now', (all) => all.map((one) => {
      const box = one.getBoundingClientRect();
      return [one.id, one.open, box.bottom > 0 && box.top < innerHeight, one.innerText.includes('src/parser_2.rs')];
    }));
    await page.keyboard.press('Enter');
    await says(`1 of ${episodes} events`);
    const [first, ...none] = await now();
    assert.deepEqual([first.slice(1), none], [[true, true, true], []]);
    await page.click('#next');
    await says(`2 of ${episodes} events`);
    assert.notEqual((await now())[0][0], first[0]);
    await page.click('#previous');
    await page.click('#previous');
    await says(`${episodes} of ${episodes} events`);
    await search('what nobody ever said');
    await says(`none of ${events} events`);
    assert.deepEqual([await visible('.ep'), await visible('.ev')], [0, 0]);
    await search('<img src=x onerror=attacked()>');
    await page.waitForFunction((all) => /^[1-9][0-9]* of /.test(document.getElementById('said').value) && document.getElementById('said').value.endsWith(all), {}, `of ${events} events`);
    await page.keyboard.press('Escape');
    await says(`${events} events`);
    assert.equal(await visible('.ep'), (await page.$$('.ep')).length);
  });

  await step('errors alone are shown when asked for', async () => {
    const errors = (await page.$$('.ev.err')).length;
    assert(errors > 13);
    await page.click('#errors');
    await says(`${errors} of ${events} events`);
    await page.click('#open');
    assert.deepEqual([await visible('.ev.err'), await visible('.ev:not(.err)')], [errors, 0]);
    await page.click('#errors');
    await says(`${events} events`);
    await page.click('#close');
    assert.equal(await visible('.ev'), 0);
  });

  await step('a bar of the timeline says what it is and leads to its call', async () => {
    const bars = await page.$$('#servers a');
    const bar = bars[bars.length - 1];
    await bar.evaluate((one) => one.scrollIntoView({ block: 'center' }));
    await bar.hover();
    await page.waitForFunction((bar) => /tests__run/.test(bar.querySelector('title')?.textContent), {}, bar);
    await bar.click();
    await page.waitForFunction(() => document.querySelector('.ev:target')?.open);
    assert.equal(await page.$eval('.ev:target', (one) => one.checkVisibility() && one.innerText.includes('tests__run')), true);
  });

  await step('it fits a small screen, and is dark where dark is wished', async () => {
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'light' }]);
    const light = await ground();
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'dark' }]);
    assert.notEqual(await ground(), light);
    await page.setViewport({ width: 360, height: 640 });
    await page.$$eval('details', (all) => all.forEach((one) => { one.open = true; }));
    const beyond = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert(beyond <= 0, `${beyond} pixels too wide`);
    await page.setViewport({ width: 1200, height: 900 });
  });

  await step('without its script it is there to be read', async () => {
    await page.setJavaScriptEnabled(false);
    await page.goto(url.replace(/#.*/, ''));
    assert.equal(await visible('#q'), 0);
    assert.equal(await visible('.ep'), (await page.$$('.ep')).length);
    await page.setJavaScriptEnabled(true);
  });

  await step('it asked for nothing, and nothing went wrong', async () => {
    await page.waitForNetworkIdle();
    // The page itself, opened twice.
    assert.deepEqual(seen.requests, [url, url]);
    assert.deepEqual(seen.noise, []);
  });
} finally {
  await browser.close();
}
