/** The look of the reference page, in the colours of the console. */
export const REFERENCE_STYLE = `
:root {
  color-scheme: light dark;
  --ground: #f3f5f6; --surface: #fff; --raised: #f7f9f9; --line: #dde3e5; --text: #15211f; --muted: #5b6a69;
  --accent: #0b746b; --accent-ground: #e1f1ef; --code: #10201f; --code-text: #dcebe8; --code-line: #27403d;
  --get: #1c5fa8; --post: #17803d; --patch: #8f5b00; --delete: #b3261e; --ws: #7a3ea8;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #0f1617; --surface: #182122; --raised: #1e2829; --line: #2d393a; --text: #e6eceb; --muted: #9fadac;
    --accent: #4cc4b5; --accent-ground: #163733; --code: #0b1213; --code-text: #d5e3e1; --code-line: #2d393a;
    --get: #7db6f2; --post: #5fd08a; --patch: #eebb55; --delete: #ff8a80; --ws: #cf9bf0;
  }
}
* { box-sizing: border-box; }
[hidden] { display: none !important; }
html { scroll-padding-top: 4.5rem; }
body { margin: 0; background: var(--ground); color: var(--text); font: 15px/1.55 system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif; }
a { color: var(--accent); }
code, pre { font: 13px/1.55 ui-monospace, 'SF Mono', 'Cascadia Mono', Menlo, Consolas, monospace; }
p code, td code, summary code { background: var(--raised); border: 1px solid var(--line); border-radius: 5px; padding: 0 .3em; overflow-wrap: anywhere; }
h1 { font-size: 26px; line-height: 1.25; letter-spacing: -.01em; margin: 0 0 .5rem; }
h2 { font-size: 20px; margin: 0; letter-spacing: -.01em; }
h3 { font-size: 17px; margin: 0; }
h4 { font-size: 12px; letter-spacing: .05em; text-transform: uppercase; color: var(--muted); margin: 1.25rem 0 .35rem; }
p { margin: .4rem 0; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 4px; }

.bar { position: sticky; top: 0; z-index: 2; display: flex; align-items: center; gap: 1rem; padding: .6rem 1.25rem; background: var(--surface); border-bottom: 1px solid var(--line); }
.bar strong { white-space: nowrap; }
.bar span.version { color: var(--muted); }
.bar .find { display: flex; align-items: center; gap: .6rem; flex: 1; max-width: 34rem; margin-left: auto; }
.bar input[type='search'] { flex: 1; min-width: 0; font: inherit; color: inherit; background: var(--raised); border: 1px solid var(--line); border-radius: 8px; padding: .4rem .75rem; }
.bar output { color: var(--muted); white-space: nowrap; min-width: 5rem; }
#menu { position: absolute; opacity: 0; }
.bar label { display: none; cursor: pointer; border: 1px solid var(--line); border-radius: 8px; padding: .3rem .6rem; }

.page { display: grid; grid-template-columns: 17.5rem minmax(0, 1fr); align-items: start; max-width: 100rem; margin: 0 auto; }
nav { position: sticky; top: 3.4rem; height: calc(100vh - 3.4rem); overflow: auto; padding: 1rem .75rem 3rem 1.25rem; border-right: 1px solid var(--line); }
nav h5 { margin: 1rem 0 .25rem; font-size: 12px; letter-spacing: .05em; text-transform: uppercase; color: var(--muted); }
nav div:first-child h5 { margin-top: 0; }
nav ul { list-style: none; margin: 0; padding: 0; }
nav a { display: flex; gap: .5rem; align-items: baseline; padding: .16rem .4rem; border-radius: 6px; color: inherit; text-decoration: none; font-size: 14px; }
nav a:hover, nav a[aria-current] { background: var(--accent-ground); color: var(--accent); }
nav .method { font-size: 10px; min-width: 3.1rem; }

main { padding: 1.5rem 2rem 6rem; min-width: 0; }
article { margin-top: 2.5rem; }
article > p { color: var(--muted); margin-bottom: 1rem; }
.card, section { background: var(--surface); border: 1px solid var(--line); border-radius: 10px; padding: 1.1rem 1.25rem 1.25rem; margin-top: 1rem; box-shadow: 0 1px 2px rgb(15 30 30 / 5%); }
.filtered .intro { display: none; }
section > header { display: flex; flex-wrap: wrap; gap: .15rem .75rem; align-items: center; }
section > header h3 { flex: 1; }
section > header h3 a { color: inherit; text-decoration: none; }
section > header h3 a:hover::after { content: ' #'; color: var(--muted); }
.path { flex-basis: 100%; display: flex; gap: .6rem; align-items: baseline; margin: .35rem 0 0; }
.path code { font-size: 14px; overflow-wrap: anywhere; }
header > p, header > details { flex-basis: 100%; }
.method { font: 700 12px/1.4 ui-monospace, Menlo, Consolas, monospace; letter-spacing: .02em; }
.get { color: var(--get); } .post { color: var(--post); } .patch { color: var(--patch); } .delete { color: var(--delete); } .ws { color: var(--ws); }
.role { font-size: 12px; font-weight: 600; border: 1px solid var(--line); border-radius: 99px; padding: .05rem .6rem; color: var(--muted); background: var(--raised); white-space: nowrap; }
.columns { display: grid; grid-template-columns: minmax(0, 11fr) minmax(0, 9fr); gap: 0 1.75rem; }

.fields { border-top: 1px solid var(--line); margin: 0; }
.fields > div { border-bottom: 1px solid var(--line); padding: .4rem 0; }
.fields dt { display: flex; flex-wrap: wrap; gap: 0 .6rem; align-items: baseline; }
.fields dt code { font-weight: 600; overflow-wrap: anywhere; }
.fields dt code span { font-weight: 400; color: var(--muted); }
.fields .type { color: var(--muted); font-size: 13.5px; overflow-wrap: anywhere; min-width: 0; }
.fields .must { font-size: 11.5px; color: var(--accent); }
.fields dd { margin: 0; color: var(--muted); font-size: 14px; }
summary { cursor: pointer; color: var(--muted); font-size: 14px; padding: .2rem 0; }
details ul { margin: .2rem 0 .4rem; padding-left: 1.2rem; }
details table { margin-top: .3rem; }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
td { border-top: 1px solid var(--line); padding: .4rem .75rem .4rem 0; vertical-align: top; overflow-wrap: anywhere; }
td:first-child { font-weight: 600; white-space: nowrap; }

figure { margin: 0; position: relative; }
figcaption { font-size: 12px; letter-spacing: .05em; text-transform: uppercase; color: var(--muted); font-weight: 700; margin: 1.25rem 0 .35rem; }
pre { margin: 0; background: var(--code); color: var(--code-text); border: 1px solid var(--code-line); border-radius: 8px; padding: .75rem .9rem; overflow: auto; max-height: 26rem; }
pre.request { white-space: pre-wrap; overflow-wrap: anywhere; }
figure button { position: absolute; right: 0; margin-top: -1.75rem; font: 600 12px/1 system-ui, sans-serif; color: var(--muted); background: var(--raised); border: 1px solid var(--line); border-radius: 6px; padding: .3rem .55rem; cursor: pointer; }
figure button:hover { border-color: var(--accent); color: var(--accent); }

@media (max-width: 72rem) { .columns { display: block; } }
@media (max-width: 52rem) {
  .bar { flex-wrap: wrap; gap: .5rem .75rem; padding: .6rem 1rem; }
  .bar label { display: block; margin-left: auto; }
  .bar .find { flex-basis: 100%; max-width: none; }
  .bar output { min-width: 0; }
  html { scroll-padding-top: 7rem; }
  .page { display: block; }
  nav { display: none; position: static; height: auto; border-right: 0; border-bottom: 1px solid var(--line); background: var(--surface); padding: 1rem; }
  nav a { padding: .35rem .4rem; }
  body:has(#menu:checked) nav { display: block; }
  body:has(#menu:focus-visible) .bar label { outline: 2px solid var(--accent); }
  main { padding: 1rem 1rem 5rem; }
  .card, section { padding: .9rem 1rem 1rem; }
}
@media print {
  .bar, nav, figure button { display: none; }
  .page, .columns { display: block; }
  section { break-inside: avoid; box-shadow: none; }
  pre { max-height: none; white-space: pre-wrap; }
}
`;
