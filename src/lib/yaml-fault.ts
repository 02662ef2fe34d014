/** The message of a YAML parser without pieces of the text, which may hold a secret. */
export function yamlFault(message: string): string {
  const [head = ''] = message.split('\n');
  return head
    .replace(/ at line \d+, column \d+:?$/, '')
    .replace(/; please use YAML.*$/, '; give one')
    .replace(/(?<=^Invalid escape sequence) .*$|(?<=[a-z)]): .*$/, '');
}
