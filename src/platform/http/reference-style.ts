/** The look of the reference page. Its hash stands in the page's security policy. */
export const REFERENCE_STYLE = `
:root { color-scheme: light dark; --line: #8884; --soft: #8882; --accent: #0b6bcb; }
@media (prefers-color-scheme: dark) { :root { --accent: #6db3f2; } }
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { margin: 0; display: grid; grid-template-columns: 17rem minmax(0, 1fr); font: 15px/1.5 system-ui, sans-serif; }
nav { position: sticky; top: 0; height: 100vh; overflow: auto; padding: 1rem; border-right: 1px solid var(--line); }
nav ul { list-style: none; margin: 0; padding: 0 0 .5rem 1rem; }
main { padding: 1rem 2rem 8rem; max-width: 62rem; }
a { color: var(--accent); }
summary { cursor: pointer; padding: .15rem 0; }
section { border-top: 1px solid var(--line); padding: .5rem 0 1.5rem; }
h2 { margin-top: 3rem; }
h4 { margin: 1rem 0 .25rem; }
p { margin: .4rem 0; }
.path { font-size: 1rem; }
.path span { display: inline-block; min-width: 4.2rem; font-weight: 700; }
.get { color: #1a7f37; } .post { color: var(--accent); } .patch { color: #9a6700; } .delete { color: #cf222e; }
code, pre { font-family: ui-monospace, monospace; font-size: .9em; }
pre { background: var(--soft); padding: .75rem; overflow: auto; border-radius: .3rem; max-height: 26rem; }
table { border-collapse: collapse; width: 100%; }
td { border-top: 1px solid var(--line); padding: .25rem .75rem .25rem 0; vertical-align: top; overflow-wrap: break-word; }
td:nth-child(2) { min-width: 5rem; }
@media (max-width: 50rem) {
  body { display: block; }
  nav { position: static; height: auto; border-right: 0; border-bottom: 1px solid var(--line); }
  main { padding: 1rem; }
}
@media print { nav { display: none; } body { display: block; } }
`;
