/** Sends a large file with progress, which `fetch` does not report. */
import { changeCount, NoAnswer, OUR_HEADER, refusalOf } from '../api.ts';
import { confirm } from '../session.ts';

const HTTP_OK = 200;
const NOT_LOGGED_IN = 401;

/**
 * @param onShare of the file that has gone, 0 to 1 @param end stops it; it rejects then
 * @throws ApiError, NoAnswer
 */
export function sendFile(
  path: string,
  file: File,
  onShare: (share: number) => void,
  end?: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('POST', path);
    request.setRequestHeader('X-Requested-With', 'console');
    request.setRequestHeader('Content-Type', 'application/octet-stream');
    request.upload.addEventListener('progress', ({ loaded, total }) =>
      onShare(total > 0 ? loaded / total : 1),
    );
    for (const event of ['error', 'abort'])
      request.addEventListener(event, () => reject(new NoAnswer(undefined)));
    request.addEventListener('load', () => {
      if (request.status === HTTP_OK) {
        changeCount.value += 1;
        resolve();
        return;
      }
      if (request.status === NOT_LOGGED_IN) void confirm();
      const isOfGateway = request.getResponseHeader(OUR_HEADER) !== null;
      reject(refusalOf(request.status, request.responseText, isOfGateway));
    });
    end?.addEventListener('abort', () => request.abort());
    request.send(file);
  });
}
