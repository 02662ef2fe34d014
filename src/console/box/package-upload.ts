/** Sends a large file and tells how much has gone; `fetch` does not tell. */
import { ApiError, changeCount, NoAnswer } from '../api.ts';
import { confirm } from '../session.ts';
import { say } from '../words/index.ts';

const HTTP_OK = 200;
const NOT_LOGGED_IN = 401;

/** @param onShare of the file that has gone, 0 to 1 @throws ApiError, NoAnswer */
export function sendPackage(path: string, file: File, onShare: (share: number) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('POST', path);
    request.setRequestHeader('X-Requested-With', 'console');
    request.setRequestHeader('Content-Type', 'application/octet-stream');
    request.upload.addEventListener('progress', ({ loaded, total }) =>
      onShare(total > 0 ? loaded / total : 1),
    );
    request.addEventListener('error', () => reject(new NoAnswer(undefined)));
    request.addEventListener('load', () => {
      if (request.status === HTTP_OK) {
        changeCount.value += 1;
        resolve();
        return;
      }
      if (request.status === NOT_LOGGED_IN) void confirm();
      reject(refusalOf(request));
    });
    request.send(file);
  });
}

function refusalOf({ status, responseText }: XMLHttpRequest): ApiError {
  const fallback = { code: `status_${status}`, message: say.frame.answeredWith(status) };
  try {
    const { errors } = JSON.parse(responseText) as { errors: ApiError['problems'] };
    return new ApiError(status, errors);
  } catch (error) {
    return new ApiError(status, [{ ...fallback, details: { cause: String(error) } }]);
  }
}
