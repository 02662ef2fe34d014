/** How much of a large file has gone. */
import { say } from '../words/later.ts';

export interface SentFile {
  name: string;
  /** 0 to 1; then the gateway checks it. */
  share: number;
}

export function SentFileProgress({ sent: { name, share } }: { sent: SentFile }) {
  return (
    <>
      <progress aria-label={say.updates.fileIsSent(name)} value={share} />
      <p class="hint" role="status">
        {share < 1 ? say.updates.sending : say.updates.judging}
      </p>
    </>
  );
}
