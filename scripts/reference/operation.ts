/** One operation, stream or shape of the API description as a section of the reference page. */
import { html } from 'hono/html';
import { DONE, type JsonSchema } from '../../src/platform/http-description/index.ts';
import { curlOf, websocatOf } from './sample.ts';
import { fieldsOf, membersOf, typeOf } from './schema-words.ts';

/** An operation with its canonical path. */
export interface Shown {
  operation: JsonSchema;
  method: string;
  path: string;
  /** Other paths, each with whether it is an older one. */
  others: { path: string; isOlder: boolean }[];
}

export function operationOf(document: JsonSchema, shown: Shown) {
  const { operation } = shown;
  const id = text(operation['operationId']);
  const body = resolve(document, operation['requestBody']);
  const answer = answerOf(document, operation);
  return html`<section id="${id}">
    ${headOf(id, operation, shown.method, shown.path, shown.others)}
    <div class="columns">
      <div>
        ${parametersOf(document, operation)} ${bodyFieldsOf(document, operation, body)}
        ${answerFieldsOf(document, answer)} ${refusalsOf(document, operation)}
      </div>
      <div>
        ${request(curlOf(sampleOf(document, shown, body, answer), shapesOf(document)))}
        ${answer === undefined ? '' : contentOf(membersOf(answer['content']), 'Answer')}
      </div>
    </div>
  </section>`;
}

export function streamOf(document: JsonSchema, stream: JsonSchema) {
  const paths = stream['paths'] as JsonSchema[];
  const [first] = paths;
  const id = text(stream['operation']);
  const message = membersOf(stream['message']);
  const schema = membersOf(message['schema']);
  const others = paths
    .slice(1)
    .map((each) => ({ path: text(each['path']), isOlder: each['deprecated'] === true }));
  const shortest = fewestParameters([first, ...paths].map((each) => text(each?.['path'])));
  return html`<section id="${id}">
    ${headOf(id, stream, 'WS', text(first?.['path']), others)}
    <div class="columns">
      <div>
        ${first ? parametersOf(document, first) : ''}
        <h4>Message</h4>
        ${fieldList(document, schema, 'always')} ${first ? refusalsOf(document, first) : ''}
      </div>
      <div>
        ${request(websocatOf(shortest, first ? resolvedParameters(document, first) : []))}
        ${contentOf({ 'application/json': message }, 'Message')}
      </div>
    </div>
  </section>`;
}

/** @param schema of the shape `name` */
export function shapeOf(document: JsonSchema, name: string, schema: JsonSchema) {
  const examples = schema['examples'] as unknown[] | undefined;
  return html`<section id="shape-${name}">
    <header>
      <h3><a href="#shape-${name}">${name}</a></h3>
    </header>
    <div class="columns">
      <div>${fieldList(document, schema, 'always')}</div>
      <div>${examples?.[0] === undefined ? '' : exampleOf('Example', examples[0])}</div>
    </div>
  </section>`;
}

/** Definitions of the description by name. */
export function shapesOf(document: JsonSchema): Record<string, JsonSchema> {
  return membersOf(membersOf(document['components'])['schemas']) as Record<string, JsonSchema>;
}

/** The examples of a body or an answer, each under its media type. */
export function contentOf(content: JsonSchema, caption: string) {
  const types = Object.entries(content);
  return types.map(([mediaType, value]) => {
    const { example } = membersOf(value);
    const title = mediaType === 'application/json' ? caption : `${caption}, ${mediaType}`;
    return example === undefined ? '' : exampleOf(title, example);
  });
}

/** A sentence in which what stands between backquotes is code. */
export function prose(sentence: string) {
  return sentence.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part));
}

export function text(value: unknown): string {
  return typeof value === 'string'
    ? value
    : value === undefined || value === null
      ? ''
      : JSON.stringify(value);
}

function headOf(id: string, operation: JsonSchema, method: string, path: string, others: Shown['others']) {
  const role = operation['x-required-role'];
  return html`<header>
    <h3><a href="#${id}">${text(operation['summary'])}</a></h3>
    <span class="role">${role === null ? 'no token needed' : html`least role: ${text(role)}`}</span>
    <p class="path"><span class="method ${method.toLowerCase()}">${method}</span> <code>${path}</code></p>
    <p>${prose(text(operation['description']))}</p>
    ${othersOf(others)}
  </header>`;
}

function othersOf(others: Shown['others']) {
  if (others.length === 0) return '';
  return html`<details>
    <summary>${String(others.length)} more ${others.length === 1 ? 'path' : 'paths'}</summary>
    <ul>
      ${others.map(({ path, isOlder }) => html`<li><code>${path}</code>${isOlder ? ' (older)' : ''}</li>`)}
    </ul>
  </details>`;
}

function parametersOf(document: JsonSchema, operation: JsonSchema) {
  const parameters = resolvedParameters(document, operation);
  return [
    ['path', 'In the path'],
    ['query', 'In the query'],
  ].map(([place, title = '']) => {
    const here = parameters.filter((parameter) => parameter['in'] === place);
    if (here.length === 0) return '';
    return html`<h4>${title}</h4>
      <dl class="fields">
        ${here.map((parameter) =>
          field(
            document,
            text(parameter['name']),
            typeOf(membersOf(parameter['schema'])),
            parameter['required'] === true ? 'required' : '',
            text(parameter['description']),
          ),
        )}
      </dl>`;
  });
}

function bodyFieldsOf(document: JsonSchema, operation: JsonSchema, body: JsonSchema) {
  if (operation['requestBody'] === undefined) return '';
  return html`<h4>Body</h4>
    <p>${prose(text(body['description']))}</p>
    ${mediaFields(document, membersOf(body['content']), 'required')}`;
}

function answerFieldsOf(document: JsonSchema, answer: JsonSchema | undefined) {
  if (answer === undefined)
    return html`<h4>Answer</h4>
      <p>Always a refusal.</p>`;
  const headers = Object.entries(membersOf(answer['headers']));
  const about = text(answer['description']);
  return html`<h4>Answer, status 200</h4>
    ${about === DONE ? '' : html`<p>${prose(about)}</p>`}
    ${mediaFields(document, membersOf(answer['content']), 'always')}
    ${
      headers.length === 0
        ? ''
        : html`<dl class="fields">
            ${headers.map(([name, header]) =>
              field(document, name, 'header', '', text(membersOf(header)['description'])),
            )}
          </dl>`
    }`;
}

/** Fields of each media type; the type alone for what has none. */
function mediaFields(document: JsonSchema, content: JsonSchema, must: string) {
  return Object.entries(content).map(([mediaType, value]) => {
    const { schema } = membersOf(value);
    const fields = schema === undefined ? '' : fieldList(document, membersOf(schema), must);
    return mediaType === 'application/json'
      ? fields
      : html`<p><code>${mediaType}</code></p>
          ${fields}`;
  });
}

function refusalsOf(document: JsonSchema, operation: JsonSchema) {
  const responses = Object.entries(membersOf(operation['responses'])).filter(([status]) => status !== '200');
  return html`<h4>Refusals</h4>
    <details>
      <summary>${responses.map(([status]) => status).join(' ')}</summary>
      <table>
        <tbody>
          ${responses.map(
            ([status, response]) =>
              html`<tr>
                <td>${status}</td>
                <td>${prose(text(resolve(document, response)['description']))}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </details>`;
}

function fieldList(document: JsonSchema, schema: JsonSchema, must: string) {
  const fields = fieldsOf(schema, shapesOf(document));
  if (fields.length === 0) return '';
  return html`<dl class="fields">
    ${fields.map(({ name, type, isRequired, about }) =>
      field(document, name, type, isRequired ? must : '', about),
    )}
  </dl>`;
}

function field(document: JsonSchema, name: string, type: string, must: string, about: string) {
  const last = name.lastIndexOf('.') + 1;
  const shown = type === 'header' ? 0 : last;
  return html`<div>
    <dt>
      <code><span>${name.slice(0, shown)}</span>${name.slice(shown)}</code>
      <span class="type">${linked(type, shapesOf(document))}</span>
      ${must === '' ? '' : html`<span class="must">${must}</span>`}
    </dt>
    ${about === '' ? '' : html`<dd>${prose(about)}</dd>`}
  </div>`;
}

/** Names of shapes lead to them. */
function linked(type: string, shapes: Readonly<Record<string, JsonSchema>>) {
  return type
    .split(/\b([A-Z]\w+)\b/)
    .map((word) => (Object.hasOwn(shapes, word) ? html`<a href="#shape-${word}">${word}</a>` : word));
}

function sampleOf(
  document: JsonSchema,
  { operation, method, path, others }: Shown,
  body: JsonSchema,
  answer: JsonSchema | undefined,
) {
  const newer = others.filter(({ isOlder }) => !isOlder).map((other) => other.path);
  return {
    method,
    path: fewestParameters([path, ...newer]),
    parameters: resolvedParameters(document, operation),
    body: membersOf(body['content']),
    answer: membersOf(answer?.['content']),
    needsToken: operation['x-required-role'] !== null,
  };
}

/** The first of those with the fewest parameters: what is easiest to fill in. */
function fewestParameters(paths: readonly string[]): string {
  const count = (path: string): number => path.split('{').length;
  return paths.toSorted((a, b) => count(a) - count(b))[0] ?? '';
}

function answerOf(document: JsonSchema, operation: JsonSchema): JsonSchema | undefined {
  const good = membersOf(operation['responses'])['200'];
  return good === undefined ? undefined : resolve(document, good);
}

function request(command: string) {
  return sample('Request', command, 'request');
}

function exampleOf(caption: string, example: unknown) {
  return sample(caption, typeof example === 'string' ? example : JSON.stringify(example, null, 2));
}

function sample(caption: string, content: string, kind = '') {
  return html`<figure>
    <figcaption>${caption}</figcaption>
    <pre class="copy ${kind}">${content}</pre>
  </figure>`;
}

function resolvedParameters(document: JsonSchema, operation: JsonSchema): JsonSchema[] {
  return (operation['parameters'] as unknown[]).map((value) => resolve(document, value));
}

function resolve(document: JsonSchema, value: unknown): JsonSchema {
  const { $ref: reference } = membersOf(value);
  if (typeof reference !== 'string') return membersOf(value);
  return reference
    .slice(2)
    .split('/')
    .reduce((found, name) => membersOf(found[name]), document);
}
