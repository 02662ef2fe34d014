/**
 * A request of an operation as a line for a terminal: `$GATEWAY` and `$TOKEN` as the walk-through sets them. Ids
 * differ between gateways, so they are variables, too: `$BLUEPRINT_ID`.
 */
import { exampleOf, type JsonSchema } from '../../src/platform/http-description/index.ts';
import { membersOf } from './schema-words.ts';

const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
const ID = new RegExp(`^${UUID}$`);
const ID_MEMBER = new RegExp(`"(\\w+_id)": ?"${UUID}"`, 'g');
const LINE_LENGTH = 60;
const FILES: Readonly<Record<string, string>> = {
  'application/zip': '@archive.zip',
  'text/csv': '@telemetry.csv',
  'application/yaml': '@template.yml',
  'image/jpeg': '@photo.jpg',
};

interface SampleRequest {
  method: string;
  /** The one with the fewest parameters reads best. */
  path: string;
  parameters: readonly JsonSchema[];
  /** Media type → its description; empty: no body. */
  body: JsonSchema;
  /** Schema of the good answer. */
  answer: JsonSchema;
  needsToken: boolean;
}

/** @param named the definitions that references mean, by name */
export function curlOf(request: SampleRequest, named: Readonly<Record<string, JsonSchema>>): string {
  const { method, body, answer, needsToken } = request;
  const address = addressOf(request, named);
  const words = [
    // Brackets are patterns to curl.
    `curl -s${address.includes('[') ? 'g' : ''}${method === 'GET' ? '' : ` -X ${method}`} "$GATEWAY${address}"`,
    ...(needsToken ? ['-H "X-Service-Auth-Token: $TOKEN"'] : []),
    ...('text/csv' in answer && !('text/csv' in body) ? ['-H "Accept: text/csv"'] : []),
    ...bodyOf(body),
    ...('application/zip' in answer ? ['-o archive.zip'] : []),
  ];
  return words.join(' \\\n  ');
}

/** The same for a stream, with a common client of WebSockets. */
export function websocatOf(path: string, parameters: readonly JsonSchema[]): string {
  const address = addressOf({ path, parameters }, {});
  return `websocat -H "X-Service-Auth-Token: $TOKEN" \\\n  "\${GATEWAY/http/ws}${address}"`;
}

function addressOf(
  { path, parameters }: Pick<SampleRequest, 'path' | 'parameters'>,
  named: Readonly<Record<string, JsonSchema>>,
): string {
  const exampleFor = (parameter: JsonSchema): unknown => exampleOf(membersOf(parameter['schema']), named);
  const filled = path.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const parameter = parameters.find((each) => each['name'] === name && each['in'] === 'path');
    const example = parameter && String(exampleFor(parameter));
    return example === undefined ? whole : ID.test(example) ? variableOf(name) : example;
  });
  const query = parameters
    .filter((parameter) => parameter['in'] === 'query' && parameter['required'] === true)
    .flatMap((parameter) => queryOf(String(parameter['name']), exampleFor(parameter)));
  return query.length === 0 ? filled : `${filled}?${query.join('&')}`;
}

function queryOf(name: string, value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [`${name}=${String(value)}`];
  return Object.entries(value).map(([key, item]) => `${name}[${key}]=${String(item)}`);
}

function bodyOf(content: JsonSchema): string[] {
  const [mediaType] = Object.keys(content);
  if (mediaType === undefined) return [];
  // The field that every upload has.
  if (mediaType === 'multipart/form-data') return ['-F data=@archive.zip'];
  if (mediaType !== 'application/json') return [`--data-binary ${FILES[mediaType] ?? '@file'}`];
  const { example } = membersOf(content[mediaType]);
  const short = JSON.stringify(example) ?? '{}';
  const text = short.length > LINE_LENGTH ? JSON.stringify(example, null, 2) : short;
  const quoted = text.replaceAll("'", String.raw`'\''`);
  return [`-d '${quoted.replace(ID_MEMBER, (_, name: string) => `"${name}":"'${variableOf(name)}'"`)}'`];
}

/** `blueprint_id` → `$BLUEPRINT_ID`. */
function variableOf(name: string): string {
  return `$${name.toUpperCase()}`;
}
