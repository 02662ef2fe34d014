/**
 * What is wrong with a text of YAML, in the parser's words: without those of the text itself, where a secret may stand.
 * Given is the message of the parser's error.
 */
export function yamlFault(message: string): string {
  const [head = ''] = message.split('\n');
  return head
    .replace(/ at line \d+, column \d+:?$/, '')
    .replace(/; please use YAML.*$/, '; give one')
    .replace(/(?<=^Invalid escape sequence) .*$|(?<=[a-z)]): .*$/, '');
}
