/**
 * A route as data. One table of these drives routing, roles, checks and the API description.
 * A capability's `routes.ts` returns a list of them; paths are canonical and start with `/v3`. The platform
 * serves each path also under `/api` and with one trailing slash.
 */
import type { GenericSchema, InferOutput } from 'valibot';
import type { Call } from './call.ts';
import type { Role } from '../../lib/role.ts';
import type { RunStream, Wire } from './exchange.ts';

const METHODS = ['GET', 'POST', 'PATCH', 'DELETE'] as const;
/** Methods that operations have. */
export type Method = (typeof METHODS)[number];

/** All paths of an operation, `{name}` for parameters; the first is the canonical one. */
type Paths = readonly [string, ...string[]];

/** `GET: ['/v3/site']`: the method of an operation with its paths. */
type Address = {
  [Name in Method]: Record<Name, Paths> & { [Other in Exclude<Method, Name>]?: undefined };
}[Method];

/** A good answer that is no JSON. */
export interface MediaAnswer {
  mediaType: string;
  /** Its content, in one sentence. */
  about: string;
  example?: string;
  /** Headers of its own: name → one sentence. */
  headers?: Readonly<Record<string, string>>;
}

/** Undefined: not described yet. */
type AnswerShape = GenericSchema | MediaAnswer | null | undefined;

/**
 * Result of a handler: the wire object of its shape, answered as JSON with status 200 (`{}` for nothing), or a complete
 * `Response`.
 */
type Handled<Answer extends AnswerShape> = Answer extends GenericSchema
  ? keyof InferOutput<Answer> extends never
    ? void | Record<string, never> | Response
    : Wire<InferOutput<Answer>> | Response
  : Answer extends MediaAnswer
    ? Response
    : Answer extends null
      ? never
      : unknown;

interface RouteDefinition<
  QuerySchema extends GenericSchema,
  BodySchema extends GenericSchema,
  Answer extends AnswerShape = AnswerShape,
> {
  /** Name of the operation in snake_case, unique: `get_site`. */
  operation: string;
  /** Least role; `null`: needs no token. Finer checks (manifest access levels) belong to the service. */
  role: Role | null;
  /** Schema over the query parameters (name → list of values); see `queryOf` helpers in query.ts. */
  query?: QuerySchema;
  /** Schema of the JSON body, or `stream` for uploads. Absent: a body is tolerated and ignored. */
  body?: BodySchema | 'stream';
  /** Reads a body that is JSON, where JSON.parse would lose something of it. */
  readJson?: (text: string) => unknown;
  /** Media types of a `stream` body, for the API description; default: any. */
  bodyMedia?: readonly string[];
  /** Changes nothing although it is a POST: a query with a body. */
  isReading?: boolean;
  /** Answers without a token before the box is claimed; all other operations do not. */
  beforeClaim?: boolean;
  /** For operations without a role: calls per minute and address of callers without a token. */
  anonymousPerMinute?: number;
  /** Default: the JSON limit. */
  bodyBytes?: number;
  /** Its parameters are ids: a path that other operations spell out is none of its, whatever the method. */
  idsOnly?: boolean;
  /** Path parameters the platform must not resolve, because the operation treats unknown ones itself. */
  unresolved?: readonly string[];
  /** Errors beyond the general ones, as `status code` for the API description. */
  errors?: readonly string[];
  /** One sentence for the API description: what the operation does, and what is not to be seen in its shapes. */
  about?: string;
  /** Wire shape of a good answer, for the API description; `null`: the operation always refuses. */
  answer?: Answer;
  handle(
    call: Call<InferOutput<QuerySchema>, InferOutput<BodySchema>>,
  ): Handled<NoInfer<Answer>> | Promise<Handled<NoInfer<Answer>>>;
}

/** A route whose schema types are erased, as the platform holds it. */
export interface Route extends Omit<RouteDefinition<GenericSchema, GenericSchema>, 'handle'> {
  method: Method;
  paths: Paths;
  handle(call: Call): unknown;
}

/** Keeps the connection between schemas and handler while the types are known. */
export function route<
  QuerySchema extends GenericSchema,
  BodySchema extends GenericSchema,
  Answer extends AnswerShape = undefined,
>(definition: RouteDefinition<QuerySchema, BodySchema, Answer> & Address): Route {
  const method = METHODS.find((name) => definition[name]) as Method;
  return { ...definition, method, paths: definition[method] as Paths };
}

/** Settings shared by the paths of one chapter. */
export interface RouteGroup {
  name: string;
  /** One sentence. */
  about: string;
  routes: readonly Route[];
  streams?: readonly Stream[];
}

interface StreamDefinition<QuerySchema extends GenericSchema, Message extends GenericSchema> {
  operation: string;
  paths: Paths;
  role: Role;
  query?: QuerySchema;
  /** One sentence for the API description. */
  about?: string;
  /** Wire shape of each text frame, for the API description. */
  message?: Message;
  /** Called before the upgrade with checked input; throws `GatewayError` to refuse, else returns what runs after it. */
  open(call: Call<InferOutput<QuerySchema>>): RunStream<InferOutput<NoInfer<Message>>>;
}

/** A WebSocket that the server offers, as `stream` makes it. */
export interface Stream extends Omit<StreamDefinition<GenericSchema, GenericSchema>, 'open'> {
  open(call: Call): RunStream;
}

/** Declares a WebSocket stream; infers the type of its query from the shape. */
export function stream<QuerySchema extends GenericSchema, Message extends GenericSchema = GenericSchema>(
  definition: StreamDefinition<QuerySchema, Message>,
): Stream {
  return definition;
}
