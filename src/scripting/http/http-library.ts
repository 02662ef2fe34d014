import { isUtf8 } from 'node:buffer';
import { parseExactJson } from '../../lib/json.ts';
import type { Limits } from '../../lib/limits.ts';
import type { DurationMs, EpochMs, MonotonicMs } from '../../lib/time.ts';
import {
  type HostFunction,
  type HostResult,
  type Library,
  LuaError,
  LuaJson,
  type LuaTurn,
  type LuaValue,
  bytesArgument,
  numberArgumentOr,
  tableArgument,
  textArgument,
  waiting,
} from '#scripting/lua';
import type { Clock } from '../../platform/clock/index.ts';
import { type Cookie, parseSetCookie } from './cookies.ts';
import type { DigestChallenge } from './digest.ts';
import { exchangeHttp, type HttpAnswer, type HttpExchange, urlProblem } from './http-exchange.ts';

const REQUESTS = String.raw`
local http, perform = {}, kit.wait('http_perform')

-- Requests keep their parts out of reach, so that what a script writes into them changes nothing.

local new_request, parts_of = kit.objects('the request')
local request_methods = {}

function http.request(method, url, body)
  local message = host.http_check('request', method, url)
  if message then return nil, message end
  return new_request(request_methods, { method = method, url = url, body = body, headers = {} })
end

local function set_header(parts, name, value)
  local headers = {}
  for _, header in next, parts.headers do
    if lower(header[1]) ~= lower(name) then headers[#headers + 1] = header end
  end
  headers[#headers + 1] = { name, value }
  parts.headers = headers
end

function request_methods.set_header(request, name, value)
  set_header(parts_of(request), tostring(name), tostring(value))
end

function request_methods.set_basic_auth(request, user, password)
  set_header(parts_of(request), 'Authorization', host.http_basic_auth(tostring(user), tostring(password)))
end

function request_methods.set_digest_auth(request, user, password)
  parts_of(request).digest = { user = tostring(user), password = tostring(password) }
end

function request_methods.add_cookie(request, name, value)
  local parts = parts_of(request)
  local cookie = tostring(name) .. '=' .. tostring(value)
  for _, header in next, parts.headers do
    if header[1] == 'Cookie' then cookie = header[2] .. '; ' .. cookie end
  end
  set_header(parts, 'Cookie', cookie)
end

-- Headers of a response: a table of lists, with two methods that do not show.

local header_methods = {}

function header_methods.values(headers, name)
  for key, values in next, headers do
    if lower(key) == lower(name) then return values end
  end
  return {}
end

function header_methods.get(headers, name) return header_methods.values(headers, name)[1] end

local header_metatable = { __index = header_methods }

-- Clients.

local new_client, options_of = kit.objects('the client')
local client_methods = {}

-- User and password of an option of a client.
local function login(options, name)
  local given = options[name]
  if given == nil then return nil end
  if type(given) ~= 'table' or type(given.user) ~= 'string' or type(given.password) ~= 'string' then
    error(format("bad argument #1 to 'client' (%s must be a table with the texts user and password)", name), 3)
  end
  return { user = given.user, password = given.password }
end

local function is_authorised(parts)
  for _, header in next, parts.headers do
    if lower(header[1]) == 'authorization' then return true end
  end
  return parts.digest ~= nil
end

local function run(options, parts)
  -- Said by the request: scripts make their clients first and do not look whether there is one.
  if options.http2 then return nil, 'http2 is not supported by this module' end
  local lines = {}
  for index, header in next, parts.headers do lines[index] = { header[1], host.http_line(header[2]) } end
  -- What a request says for itself counts.
  local digest, basic = parts.digest, options.basic
  if not is_authorised(parts) then
    digest = options.digest
    if basic then lines[#lines + 1] = { 'Authorization', host.http_basic_auth(basic.user, basic.password) } end
  end
  local code, body, headers, cookies, jar = perform(
    parts.method, parts.url, lines, parts.body, options.timeout, options.insecure_tls, options.jar,
    digest and digest.user, digest and digest.password
  )
  if not code then return nil, body end
  if options.jar then options.jar = jar end
  return { code = code, body = body, headers = setmetatable(headers, header_metatable), cookies = cookies }
end

function http.client(options)
  options = options or {}
  kit.check(options, 'table', 1, 'client')
  return new_client(client_methods, {
    timeout = options.timeout,
    insecure_tls = options.insecure_tls and true or false,
    http2 = options.http2 and true or false,
    jar = options.enable_cookie_jar and {} or nil,
    basic = login(options, 'basic_auth'),
    digest = login(options, 'digest_auth'),
  })
end

function client_methods.do_request(client, request) return run(options_of(client), parts_of(request)) end

-- name: of the function that the script has called.
local function simple(options, name, url, content_type, body)
  local method = name == 'get' and 'GET' or 'POST'
  local message = host.http_check(name, method, url)
  if message then return nil, message end
  local headers = content_type and { { 'Content-Type', content_type } } or {}
  return run(options, { method = method, url = url, headers = headers, body = body })
end

local FORM = 'application/x-www-form-urlencoded'

function client_methods.get(client, url) return simple(options_of(client), 'get', url) end
function client_methods.post(client, url, content_type, body)
  return simple(options_of(client), 'post', url, content_type, body)
end
function client_methods.post_form(client, url, form)
  return simple(options_of(client), 'post_form', url, FORM, host.http_form(form))
end

local default = {}
function http.get(url) return simple(default, 'get', url) end
function http.post(url, content_type, body) return simple(default, 'post', url, content_type, body) end
function http.post_form(url, form) return simple(default, 'post_form', url, FORM, host.http_form(form)) end
return http
`;

/** `http` of both generations (docs/interface/lua-devices.md#http). The network is in `http-exchange.ts`. */
export const HTTP_LIBRARY: Library = {
  name: 'http',
  parts: { http: REQUESTS },
  source: `kit.later(kit.library('http', {}), 'http', 'request', 'client', 'get', 'post', 'post_form')`,
};

interface HttpLibraryOptions {
  clock: Clock;
  limits: Limits['lua'];
  /** Gets each request with its answer; a text is why there is none. */
  onExchange?: (
    request: HttpExchange,
    answer: HttpAnswer | string,
    times: { atMs: EpochMs; durationMs: DurationMs },
    turn: LuaTurn | undefined,
  ) => void;
}

/** Functions for one script: its requests are counted. */
export function httpFunctions({
  clock,
  limits,
  onExchange,
}: HttpLibraryOptions): Record<string, HostFunction> {
  let running = 0;
  const challenges = new Map<string, DigestChallenge>();

  async function perform(
    values: LuaValue[],
    deadlineMs: MonotonicMs = Number.POSITIVE_INFINITY,
    turn?: LuaTurn,
  ): Promise<HostResult> {
    const [method, url, headers, body, timeout, insecureTls, jar, user, password] = values;
    if (running >= limits.httpRequests)
      return [undefined, `more than ${limits.httpRequests} requests at once`];
    const request = {
      method: textArgument(method, 1, 'request').toUpperCase(),
      url: textArgument(url, 2, 'request'),
      headers: headersOf(headers),
      body: body === undefined ? undefined : bytesArgument(body, 3, 'request'),
      // After the call of the script nobody would see what a request that still connects then does.
      timeoutMs: Math.min(timeoutOf(timeout, limits), deadlineMs - clock.monotonicMs()),
      insecureTls: insecureTls === true,
      jar: jar === undefined ? undefined : listOf<Cookie>(jar),
      digest:
        user === undefined
          ? undefined
          : { user: textArgument(user, 1, 'client'), password: textArgument(password, 1, 'client') },
    };
    running += 1;
    const begun = { atMs: clock.wallMs(), monotonicMs: clock.monotonicMs() };
    try {
      const answer = await exchangeHttp(request, { clock, limits, challenges });
      const durationMs = clock.monotonicMs() - begun.monotonicMs;
      onExchange?.(request, answer, { atMs: begun.atMs, durationMs }, turn);
      return typeof answer === 'string' ? [undefined, answer] : resultsOf(answer);
    } finally {
      running -= 1;
    }
  }

  return {
    http_check: ([called, method, url]) => {
      const name = textArgument(called, 1, 'request');
      const word = textArgument(method, 1, name);
      if (!/^[A-Za-z]{1,20}$/.test(word)) return ['the method is not valid'];
      return [urlProblem(textArgument(url, name === 'request' ? 2 : 1, name))];
    },
    http_basic_auth: ([user, password]) => {
      const name = 'set_basic_auth';
      const parts = [bytesArgument(user, 1, name), Buffer.from(':'), bytesArgument(password, 2, name)];
      return [`Basic ${Buffer.concat(parts).toString('base64')}`];
    },
    // Node takes each character of a header for one byte.
    http_line: ([text]) => [bytesArgument(text, 2, 'post').toString('latin1')],
    http_form: ([form]) => [new URLSearchParams(fieldsOf(form)).toString()],
    http_perform: waiting(perform),
  };
}

type Field = string | number | bigint | boolean | object;

/** Names and values; a list has its places for names. @throws LuaError */
function fieldsOf(form: LuaValue): [string, string][] {
  const fields = tableArgument(form, 2, 'post_form', parseExactJson) as Field[] | Record<string, Field>;
  const named = Array.isArray(fields)
    ? fields.map((value, index) => [index + 1, value] as const)
    : Object.entries(fields);
  return named.map(([name, value]) => {
    if (typeof value === 'object')
      throw new LuaError(`bad argument #2 to 'post_form' (field "${name}" is a table)`);
    return [String(name), String(value)];
  });
}

function timeoutOf(timeout: LuaValue, limits: Limits['lua']): number {
  const seconds = numberArgumentOr(timeout, 1, 'client', undefined);
  if (seconds === undefined) return limits.httpTimeoutMs;
  if (!(seconds > 0)) throw new LuaError('the timeout must be a positive number of seconds');
  return Math.min(seconds * 1_000, limits.httpTimeoutMaxMs);
}

/** A list of Lua as one of ours; an empty table is an empty list. */
function listOf<Item>(value: LuaValue): Item[] {
  const list: unknown = value instanceof LuaJson ? JSON.parse(value.text) : [];
  return Array.isArray(list) ? (list as Item[]) : [];
}

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

function headersOf(value: LuaValue): [string, string][] {
  const headers = listOf<[string, string]>(value);
  for (const [name, content] of headers)
    if (!HEADER_NAME.test(name) || /[\r\n\0]/.test(content) || !/^[\t\x20-\xff]*$/.test(content))
      throw new LuaError(`the header ${JSON.stringify(name)} is not valid`);
  return headers;
}

function resultsOf({ code, headers, body, jar }: HttpAnswer): HostResult {
  const lists = new Map<string, string[]>();
  for (const [name, value] of headers)
    lists.getOrInsertComputed(canonical(name), () => []).push(textOfHeader(value));
  const cookies = (lists.get('Set-Cookie') ?? []).flatMap((line) => {
    const cookie = parseSetCookie(line);
    return cookie
      ? [{ name: cookie.name, value: cookie.value, expires: cookie.attributes.get('expires') ?? '' }]
      : [];
  });
  return [
    BigInt(code),
    Uint8Array.from(body),
    new LuaJson(JSON.stringify(Object.fromEntries(lists))),
    new LuaJson(JSON.stringify(cookies)),
    new LuaJson(JSON.stringify(jar ?? [])),
  ];
}

/** One character for each byte, as Node gives it, as the text that it mostly is. */
function textOfHeader(value: string): string {
  const bytes = Buffer.from(value, 'latin1');
  return isUtf8(bytes) ? bytes.toString('utf8') : value;
}

/** `content-type` → `Content-Type`. */
function canonical(name: string): string {
  return name.toLowerCase().replace(/(?:^|-)[a-z]/g, (start) => start.toUpperCase());
}
