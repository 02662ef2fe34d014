/** Style sheets of parts that are loaded on demand: the first view does not wait for them. */

/** Puts the sheet behind those of the page. To be called once, where a part is loaded. */
export function adoptStyles(text: string): void {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(text);
  document.adoptedStyleSheets.push(sheet);
}
