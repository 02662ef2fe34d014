/**
 * The API description as one page for people: nothing from elsewhere, so that it works on a laptop beside the
 * box without any other network. Every operation stands once, with its other paths.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { html } from 'hono/html';
import { apiDescription } from '../../src/gateway/description-routes.ts';
import { routeGroups } from '../../src/gateway/route-groups.ts';
import { ROLES } from '../../src/lib/role.ts';
import type { JsonSchema } from '../../src/platform/http-description/index.ts';
import { contentOf, operationOf, prose, shapeOf, shapesOf, type Shown, streamOf, text } from './operation.ts';
import { REFERENCE_SCRIPT } from './script.ts';
import { REFERENCE_STYLE } from './style.ts';
import { membersOf } from './schema-words.ts';

/** Beside the page, whose security policy takes its own origin only. */
const STYLE = 'reference.css';
const SCRIPT = 'reference.js';

const ERROR_EXAMPLE = {
  errors: [
    {
      code: 'command_not_found',
      message: 'The device\'s blueprint has no command "sett_limit".',
      details: { name: 'sett_limit' },
    },
  ],
};

interface Group {
  id: string;
  name: string;
  about: string;
  shown: Shown[];
}

/**
 * Writes the page of all operations and what it loads into the folder, each file with its compressed form; returns the
 * description that it shows.
 */
export async function buildReference(folder: string, version: string): Promise<JsonSchema> {
  const groups = routeGroups(NO_PARTS, { clock: NO_PARTS, version }, NO_PARTS, undefined);
  const document = apiDescription(groups, version, true);
  mkdirSync(folder, { recursive: true });
  const files = {
    'index.html': await renderReferencePage(document),
    [STYLE]: REFERENCE_STYLE,
    [SCRIPT]: REFERENCE_SCRIPT,
  };
  for (const [name, content] of Object.entries(files)) {
    writeFileSync(join(folder, name), content);
    writeFileSync(join(folder, `${name}.gz`), gzipSync(content, { level: 9 }));
  }
  return document;
}

/** Routes are data: what their handlers need is not there while they are described. */
const NO_PARTS = new Proxy(
  {},
  { get: (_, name): unknown => (typeof name === 'symbol' ? undefined : NO_PARTS) },
) as never;

/** @param document an OpenAPI description as `describeApi` makes it */
export async function renderReferencePage(document: JsonSchema): Promise<string> {
  const info = membersOf(document['info']);
  const title = text(info['title']);
  const groups = groupsOf(document);
  const streams = document['x-streams'] as JsonSchema[];
  const page = html`<html lang="en">
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <title>${title} API ${text(info['version'])}</title>
      <link rel="stylesheet" href="/docs/${STYLE}" />
    </head>
    <body>
      ${barOf(title, text(info['version']))}
      <div class="page">
        ${menuOf(groups, streams, Object.keys(shapesOf(document)))}
        <main>
          ${introOf(document, title)}
          ${groups.map(
            ({ id, name, about, shown }) =>
              html`<article id="${id}">
                <h2>${name}</h2>
                <p>${prose(about)}</p>
                ${shown.map((each) => operationOf(document, each))}
              </article>`,
          )}
          ${streamsOf(document, streams)} ${shapeListOf(document)}
        </main>
      </div>
      <script src="/docs/${SCRIPT}"></script>
    </body>
  </html>`;
  return `<!doctype html>${await page}`;
}

function groupsOf(document: JsonSchema): Group[] {
  const tags = document['tags'] as { name: string; description: string }[];
  const shown = operationsOf(document);
  return tags.map(({ name, description }) => ({
    id: `group-${name.toLowerCase().replaceAll(' ', '-')}`,
    name,
    about: description,
    shown: shown.filter(({ operation }) => (operation['tags'] as string[])[0] === name),
  }));
}

function operationsOf(document: JsonSchema): Shown[] {
  const shown: Shown[] = [];
  const others = new Map<string, Shown['others']>();
  for (const [path, item] of Object.entries(membersOf(document['paths'])))
    for (const [method, value] of Object.entries(membersOf(item))) {
      const operation = membersOf(value);
      const alias = operation['x-alias-of'];
      const id = text(alias ?? operation['operationId']);
      const list = others.getOrInsertComputed(id, () => []);
      if (alias === undefined) shown.push({ operation, method: method.toUpperCase(), path, others: list });
      else list.push({ path, isOlder: operation['deprecated'] === true });
    }
  return shown;
}

function barOf(title: string, version: string) {
  return html`<div class="bar">
    <strong>${title} <span class="version">API ${version}</span></strong>
    <input type="checkbox" id="menu" aria-label="Show the list of operations" />
    <label for="menu">Operations</label>
    <div class="find" hidden>
      <input
        type="search"
        id="search"
        placeholder="Filter, for example: device patch owner"
        aria-label="Filter operations by words of their name, path, method, role or chapter"
        autocomplete="off"
      />
      <output id="count" aria-live="polite"></output>
    </div>
  </div>`;
}

function menuOf(groups: readonly Group[], streams: readonly JsonSchema[], shapes: readonly string[]) {
  const entry = (id: string, kind: string, name: string) =>
    html`<li>
      <a href="#${id}"><span class="method ${kind.toLowerCase()}">${kind}</span><span>${name}</span></a>
    </li>`;
  return html`<nav aria-label="Operations">
    ${groups.map(
      ({ id, name, shown }) =>
        html`<div data-group="${id}">
          <h5>${name}</h5>
          <ul>
            ${shown.map(({ operation, method }) =>
              entry(text(operation['operationId']), method, text(operation['summary'])),
            )}
          </ul>
        </div>`,
    )}
    <div data-group="streams">
      <h5>Streams</h5>
      <ul>
        ${streams.map((stream) => entry(text(stream['operation']), 'WS', text(stream['summary'])))}
      </ul>
    </div>
    <div data-group="shapes">
      <h5>Shapes</h5>
      <ul>
        ${shapes.map((name) => html`<li><a href="#shape-${name}">${name}</a></li>`)}
      </ul>
    </div>
  </nav>`;
}

function introOf(document: JsonSchema, title: string) {
  const about = text(membersOf(document['info'])['description']);
  return html`<div class="intro">
    <h1>${title} API</h1>
    <p>${prose(about)}</p>
    <p>
      For programs: <a href="/v3/openapi.json">OpenAPI 3.1</a>; the side of the devices, MQTT:
      <a href="/v3/asyncapi.json">AsyncAPI 3</a>. For people: <a href="/docs/manual">the manual</a> with what
      holds for all operations, devices, blueprints and scripts, and <a href="/">the console</a>. Examples
      take the address from <code>$GATEWAY</code>, an access token from <code>$TOKEN</code> and ids from
      variables such as <code>$BLUEPRINT_ID</code>; the device is that of the first steps.
    </p>
    ${accessOf(document)}
    <div class="card">
      <h3>Errors</h3>
      <p>
        Every answer with a status of 400 or more is this envelope. Programs compare <code>code</code>, people
        read <code>message</code>; a request with several faults has one entry for each.
      </p>
      ${contentOf({ 'application/json': { example: ERROR_EXAMPLE } }, 'An error')}
    </div>
  </div>`;
}

function accessOf(document: JsonSchema) {
  const schemes = Object.values(membersOf(membersOf(document['components'])['securitySchemes']));
  return html`<div class="card">
    <h3>Access</h3>
    <table>
      <tbody>
        ${schemes.map(membersOf).map(
          (scheme) =>
            html`<tr>
              <td><code>${text(scheme['name'] ?? 'Authorization: Bearer')}</code></td>
              <td>${text(scheme['description'])}</td>
            </tr>`,
        )}
      </tbody>
    </table>
    <p>
      Each operation names the least role that it needs. Roles, from the lowest to the highest, each with the
      rights of those before it: ${ROLES.map((role) => html`<span class="role">${role}</span> `)}
    </p>
  </div>`;
}

function streamsOf(document: JsonSchema, streams: readonly JsonSchema[]) {
  return html`<article id="streams">
    <h2>Streams</h2>
    <p>
      WebSockets: text frames, one JSON object each. The token may stand in the query as <code>token</code>,
      because pages cannot set headers.
    </p>
    ${streams.map((stream) => streamOf(document, stream))}
  </article>`;
}

function shapeListOf(document: JsonSchema) {
  return html`<article id="shapes">
    <h2>Shapes</h2>
    <p>Objects that several operations answer or take.</p>
    ${Object.entries(shapesOf(document)).map(([name, schema]) => shapeOf(document, name, schema))}
  </article>`;
}
