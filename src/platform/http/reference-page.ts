/**
 * The API description as one page for people: no script, nothing from elsewhere, so that it works on a laptop
 * beside the box without any other network. Every operation stands once, with its other paths.
 */
import { createHash } from 'node:crypto';
import { html, join, type Markup, markup } from './markup.ts';
import type { JsonSchema } from './json-schema.ts';
import { REFERENCE_STYLE } from './reference-style.ts';
import { membersOf, fieldsOf, typeOf } from './schema-words.ts';

/** The page has this one style and may load, run and send nothing. */
export const REFERENCE_PAGE_HEADERS = {
  'Content-Security-Policy': [
    "default-src 'none'",
    `style-src 'sha256-${createHash('sha256').update(REFERENCE_STYLE).digest('base64')}'`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'self'",
  ].join('; '),
  'Referrer-Policy': 'no-referrer',
} as const;

/** Not in a template: its hash stands for every blank. */
const STYLE = markup(`<style>${REFERENCE_STYLE}</style>`);

interface Shown {
  operation: JsonSchema;
  method: string;
  path: string;
  /** Other paths, each with whether it is an older one. */
  others: { path: string; isOlder: boolean }[];
}

/** @param document an OpenAPI description as `describeApi` makes it */
export function renderReferencePage(document: JsonSchema): string {
  const info = membersOf(document['info']);
  const tags = document['tags'] as { name: string; description: string }[];
  const shown = operationsOf(document);
  const streams = document['x-streams'] as JsonSchema[];
  const ofTag = (name: string): Shown[] =>
    shown.filter(({ operation }) => (operation['tags'] as string[])[0] === name);
  const title = text(info['title']);
  const page = html`<html lang="en">
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <title>${title} ${text(info['version'])}</title>
      ${STYLE}
    </head>
    <body>
      <nav aria-label="Operations">
        <p><strong>${title}</strong> ${text(info['version'])}</p>
        ${join(tags.map(({ name }) => menuOf(name, ofTag(name))))}
        <p><a href="#streams">Streams</a></p>
      </nav>
      <main>
        <h1>${title}</h1>
        <p>${text(info['description'])}</p>
        <p>
          For programs: <a href="/v3/openapi.json">OpenAPI 3.1</a>,
          <a href="/v3/asyncapi.json">AsyncAPI 3</a> for devices.
        </p>
        ${securityOf(document)}
        ${join(
          tags.map(
            ({ name, description }) =>
              html`<h2>${name}</h2>
                <p>${description}</p>
                ${join(ofTag(name).map((each) => operationOf(document, each)))}`,
          ),
        )}
        <h2 id="streams">Streams</h2>
        <p>
          WebSockets: text frames, one JSON object each. The token may stand in the query as
          <code>token</code>.
        </p>
        ${join(streams.map((stream) => streamOf(document, stream)))}
      </main>
    </body>
  </html>`;
  return `<!doctype html>${page.markup}`;
}

function operationsOf(document: JsonSchema): Shown[] {
  const shown: Shown[] = [];
  const others = new Map<string, Shown['others']>();
  for (const [path, item] of Object.entries(membersOf(document['paths'])))
    for (const [method, value] of Object.entries(membersOf(item))) {
      const operation = membersOf(value);
      const alias = operation['x-alias-of'];
      const id = text(alias ?? operation['operationId']);
      const list = others.get(id) ?? [];
      others.set(id, list);
      if (alias === undefined) shown.push({ operation, method: method.toUpperCase(), path, others: list });
      else list.push({ path, isOlder: operation['deprecated'] === true });
    }
  return shown;
}

function menuOf(tag: string, shown: readonly Shown[]): Markup {
  return html`<details>
    <summary>${tag}</summary>
    <ul>
      ${join(
        shown.map(
          ({ operation }) =>
            html`<li><a href="#${text(operation['operationId'])}">${text(operation['summary'])}</a></li>`,
        ),
      )}
    </ul>
  </details>`;
}

function securityOf(document: JsonSchema): Markup {
  const schemes = Object.values(membersOf(membersOf(document['components'])['securitySchemes']));
  return html`<h2>Access</h2>
    <table>
      <tbody>
        ${join(
          schemes.map(membersOf).map(
            (scheme) =>
              html`<tr>
                <td><code>${text(scheme['name'] ?? 'Authorization: Bearer')}</code></td>
                <td>${text(scheme['description'])}</td>
              </tr>`,
          ),
        )}
      </tbody>
    </table>`;
}

function operationOf(document: JsonSchema, { operation, method, path, others }: Shown): Markup {
  const role = operation['x-required-role'];
  return html`<section id="${text(operation['operationId'])}">
    <h3>${text(operation['summary'])}</h3>
    <p class="path"><span class="${method.toLowerCase()}">${method}</span> <code>${path}</code></p>
    <p>${text(operation['description'])}</p>
    <p>${role === null ? 'Needs no token.' : html`Least role: <strong>${text(role)}</strong>.`}</p>
    ${othersOf(others)} ${parametersOf(document, operation)} ${bodyOf(document, operation)}
    ${answersOf(document, operation)}
  </section>`;
}

function othersOf(others: Shown['others']): Markup {
  if (others.length === 0) return markup('');
  return html`<details>
    <summary>${String(others.length)} more ${others.length === 1 ? 'path' : 'paths'}</summary>
    <ul>
      ${join(
        others.map(({ path, isOlder }) => html`<li><code>${path}</code>${isOlder ? ' (older)' : ''}</li>`),
      )}
    </ul>
  </details>`;
}

function parametersOf(document: JsonSchema, operation: JsonSchema): Markup {
  const parameters = (operation['parameters'] as unknown[]).map((value) => resolve(document, value));
  if (parameters.length === 0) return markup('');
  return html`<h4>Parameters</h4>
    <table>
      <tbody>
        ${join(
          parameters.map((parameter) => {
            const schema = membersOf(parameter['schema']);
            return html`<tr>
              <td><code>${text(parameter['name'])}</code></td>
              <td>${parameter['required'] === true ? 'required' : ''}</td>
              <td>${typeOf(schema)}</td>
              <td>${text(parameter['description'])}</td>
            </tr>`;
          }),
        )}
      </tbody>
    </table>`;
}

function bodyOf(document: JsonSchema, operation: JsonSchema): Markup {
  if (operation['requestBody'] === undefined) return markup('');
  const body = resolve(document, operation['requestBody']);
  return html`<h4>Body</h4>
    <p>${text(body['description'])}</p>
    ${contentOf(document, membersOf(body['content']))}`;
}

function answersOf(document: JsonSchema, operation: JsonSchema): Markup {
  const responses = Object.entries(membersOf(operation['responses']));
  const good = responses.find(([status]) => status === '200')?.[1];
  const answer = good === undefined ? undefined : resolve(document, good);
  return html`<h4>Answer</h4>
    ${
      answer === undefined
        ? html`<p>Always a refusal.</p>`
        : html`<p>${text(answer['description'])}</p>
            ${contentOf(document, membersOf(answer['content']))}`
    }
    <details>
      <summary>Refusals</summary>
      <table>
        <tbody>
          ${join(
            responses
              .filter(([status]) => status !== '200')
              .map(
                ([status, response]) =>
                  html`<tr>
                    <td>${status}</td>
                    <td>${text(resolve(document, response)['description'])}</td>
                  </tr>`,
              ),
          )}
        </tbody>
      </table>
    </details>`;
}

function contentOf(document: JsonSchema, content: JsonSchema): Markup {
  return join(
    Object.entries(content).map(([mediaType, value]) => {
      const { schema, example } = membersOf(value);
      return html`<p><code>${mediaType}</code></p>
        ${schema === undefined ? '' : fieldTable(document, membersOf(schema))}
        ${
          example === undefined
            ? ''
            : html`<pre>${typeof example === 'string' ? example : JSON.stringify(example, null, 2)}</pre>`
        }`;
    }),
  );
}

function fieldTable(document: JsonSchema, schema: JsonSchema): Markup {
  const definitions = membersOf(membersOf(document['components'])['schemas']);
  const fields = fieldsOf(schema, definitions);
  if (fields.length === 0) return markup('');
  return html`<table>
    <tbody>
      ${join(
        fields.map(
          ({ name, type, isRequired, about }) =>
            html`<tr>
              <td><code>${name}</code></td>
              <td>${isRequired ? 'always' : ''}</td>
              <td>${type}</td>
              <td>${about}</td>
            </tr>`,
        ),
      )}
    </tbody>
  </table>`;
}

function streamOf(document: JsonSchema, stream: JsonSchema): Markup {
  const paths = stream['paths'] as JsonSchema[];
  const [first] = paths;
  const message = membersOf(stream['message']);
  return html`<section id="${text(stream['operation'])}">
    <h3>${text(stream['summary'])}</h3>
    <p class="path"><span class="get">WS</span> <code>${text(first?.['path'])}</code></p>
    <p>${text(stream['description'])}</p>
    <p>Least role: <strong>${text(stream['x-required-role'])}</strong>.</p>
    ${othersOf(
      paths.slice(1).map((each) => ({ path: text(each['path']), isOlder: each['deprecated'] === true })),
    )}
    ${first ? parametersOf(document, first) : ''}
    <h4>Messages</h4>
    ${contentOf(document, { 'application/json': message })}
  </section>`;
}

function resolve(document: JsonSchema, value: unknown): JsonSchema {
  const { $ref: reference } = membersOf(value);
  if (typeof reference !== 'string') return membersOf(value);
  return reference
    .slice(2)
    .split('/')
    .reduce((found, name) => membersOf(found[name]), document);
}

function text(value: unknown): string {
  return typeof value === 'string'
    ? value
    : value === undefined || value === null
      ? ''
      : JSON.stringify(value);
}
