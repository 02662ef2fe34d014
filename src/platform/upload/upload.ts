/**
 * Bodies of upload operations: one part of `multipart/form-data`, or the raw bytes for every other content type,
 * because public clients send either (docs/interface/http.md#blueprints-and-profiles). Parsed while it streams in.
 */
import { Readable } from 'node:stream';
import { Busboy, type BusboyFileStream } from '@fastify/busboy';
import { gatewayError, invalidBody, messageOf } from '../../lib/errors.ts';

/** The part of a call that is needed. */
interface UploadRequest {
  /** Header by its lower-case name. */
  header(name: string): string | undefined;
  /** The body, which fails when it grows over its limit. */
  stream(): ReadableStream<Uint8Array>;
}

/** Parts besides the wanted one are read over; a form with more than this is not from a client of ours. */
const PARTS_MAX = 20;
const HEADER_PAIRS_MAX = 50;

/**
 * The uploaded bytes, `maximumBytes` at most whatever they are wrapped in. @throws GatewayError invalid_body
 * (400) for a form that is broken or has no file in `field`; payload_too_large (413), also from the stream
 */
export async function readUpload(
  request: UploadRequest,
  field: string,
  maximumBytes: number,
): Promise<Buffer> {
  const contentType = request.header('content-type') ?? '';
  const upload = /^\s*multipart\/form-data\b/i.test(contentType)
    ? await readPart(request.stream(), contentType, field)
    : await readAll(request.stream());
  if (upload.length <= maximumBytes) return upload;
  throw gatewayError('too_large', 'payload_too_large', `The upload is larger than ${maximumBytes} bytes.`, {
    limit: maximumBytes,
  });
}

async function readAll(stream: ReadableStream<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function readPart(
  stream: ReadableStream<Uint8Array>,
  contentType: string,
  field: string,
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let isFound = false;
  const form = openForm(contentType, field);
  const ended = new Promise<void>((resolve, reject) => {
    const fail = (error: unknown): void =>
      reject(invalidBody(field, `The multipart form is broken: ${messageOf(error)}.`));
    form.on('file', (name: string, file: BusboyFileStream) => {
      const isWanted = name === field && !isFound;
      isFound ||= isWanted;
      // A part that ends too early fails by itself.
      file.on('error', fail);
      if (isWanted) file.on('data', (chunk: Buffer) => void chunks.push(chunk));
      else file.resume();
    });
    form.on('finish', resolve);
    form.on('error', fail);
  });
  const source = Readable.fromWeb(stream);
  source.on('error', (error) => form.destroy(error));
  const failed = new Promise<never>((_, reject) => source.on('error', reject));
  source.pipe(form);
  // The rest of a broken form is not read.
  await Promise.race([ended, failed]).finally(() => source.destroy());
  if (!isFound) throw invalidBody(field, `The form has no file in field "${field}".`);
  return Buffer.concat(chunks);
}

function openForm(contentType: string, field: string): InstanceType<typeof Busboy> {
  try {
    return new Busboy({
      headers: { 'content-type': contentType },
      // Some clients name no file; a part that is no file would be kept whole, and as text.
      isPartAFile: () => true,
      limits: { parts: PARTS_MAX, headerPairs: HEADER_PAIRS_MAX },
    });
  } catch (error) {
    throw invalidBody(field, `The multipart form is broken: ${messageOf(error)}.`);
  }
}
