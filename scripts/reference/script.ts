/**
 * What the reference page does beyond showing: filter, copy, and marking where the reader is. The page is complete without
 * it. No timers, so that nothing runs unasked.
 */
export const REFERENCE_SCRIPT = `
const search = document.getElementById('search');
const count = document.getElementById('count');
const groups = [...document.querySelectorAll('article')].map((article) => ({
  article,
  menu: document.querySelector('nav [data-group="' + article.id + '"]'),
  entries: [...article.querySelectorAll('section')].map((section) => ({
    section,
    link: document.querySelector('nav a[href="#' + section.id + '"]'),
    text: (article.querySelector('h2').textContent + ' ' + section.querySelector('header').textContent).toLowerCase(),
  })),
}));
const all = groups.flatMap(({ entries }) => entries);

function filter() {
  const words = search.value.toLowerCase().split(/\\s+/).filter((word) => word !== '');
  let shown = 0;
  for (const { article, menu, entries } of groups) {
    let inGroup = 0;
    for (const { section, link, text } of entries) {
      const fits = words.every((word) => text.includes(word));
      section.hidden = !fits;
      if (link) link.parentElement.hidden = !fits;
      if (fits) inGroup += 1;
    }
    article.hidden = inGroup === 0 && words.length > 0;
    if (menu) menu.hidden = article.hidden;
    shown += inGroup;
  }
  document.body.classList.toggle('filtered', words.length > 0);
  count.textContent = words.length === 0 ? '' : shown === 0 ? 'nothing fits' : shown + ' of ' + all.length;
}

function clear() {
  search.value = '';
  filter();
}

function follow() {
  const target = document.getElementById(location.hash.slice(1));
  if (target && target.closest('[hidden]')) {
    clear();
    target.scrollIntoView();
  }
  document.getElementById('menu').checked = false;
}

async function copy(pre, button) {
  let isCopied = true;
  try {
    await navigator.clipboard.writeText(pre.textContent);
  } catch {
    // Without TLS there is no clipboard; selecting and copying works everywhere.
    getSelection().selectAllChildren(pre);
    isCopied = document.execCommand('copy');
  }
  button.textContent = isCopied ? 'Copied' : 'Selected';
}

for (const pre of document.querySelectorAll('pre.copy')) {
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = 'Copy';
  button.addEventListener('click', () => copy(pre, button));
  for (const left of ['blur', 'pointerleave']) button.addEventListener(left, () => (button.textContent = 'Copy'));
  pre.before(button);
}

const watcher = new IntersectionObserver(
  (changes) => {
    for (const { target, isIntersecting } of changes) {
      const entry = all.find(({ section }) => section === target);
      if (!entry || !entry.link) continue;
      if (isIntersecting) {
        entry.link.setAttribute('aria-current', 'true');
        entry.link.scrollIntoView({ block: 'nearest' });
      } else entry.link.removeAttribute('aria-current');
    }
  },
  { rootMargin: '-15% 0px -80% 0px' },
);
for (const { section } of all) watcher.observe(section);

search.parentElement.hidden = false;
search.addEventListener('input', filter);
addEventListener('hashchange', follow);
addEventListener('keydown', (event) => {
  if (event.key === '/' && !event.target.matches('input')) {
    event.preventDefault();
    search.focus();
  } else if (event.key === 'Escape' && event.target === search) clear();
});
`;
