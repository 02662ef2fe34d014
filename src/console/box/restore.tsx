/** Restores a backup in place of the state of this box. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { callFor } from '../api.ts';
import { momentText } from '../format.ts';
import { DropArea } from '../parts/drop-area.tsx';
import { SentFileProgress } from '../parts/sent-file.tsx';
import { loginReason } from '../session.ts';
import { Button, Card, Check, Dialog, InputField, Notice, Question, useAction } from '../ui.tsx';
import { say } from '../words/later.ts';
import { sendFile } from './file-upload.ts';

/** G: a small board opens and checks some gigabytes of history. */
const CHECK_MAX_MS = 3_600_000;

interface Restored {
  made_at: string | null;
}

export function RestoreCard() {
  const [file, setFile] = useState<File | undefined>(undefined);
  const [password, setPassword] = useState('');
  const [rehearsal, setRehearsal] = useState(false);
  const [isAsking, setAsking] = useState(false);
  const [restored, setRestored] = useState<Restored | undefined>(undefined);
  const end = (found: Restored): void => {
    setAsking(false);
    setFile(undefined);
    setPassword('');
    setRehearsal(false);
    setRestored(found);
    // The login may end with the restart.
    loginReason.value = 'restored';
  };
  return (
    <Card title={say.box.restore} data-test="restore">
      {restored && (
        <Notice kind="success">
          {say.box.restoredNow(restored.made_at === null ? undefined : momentText(restored.made_at))}
        </Notice>
      )}
      <DropArea accept=".backup,.db,application/octet-stream" onFile={setFile}>
        {file ? file.name : say.box.dropBackup}
      </DropArea>
      <InputField
        label={say.box.itsPassword}
        hint={say.box.itsPasswordHint}
        type="password"
        value={password}
        onValue={setPassword}
        name="restore_password"
        autocomplete="new-password"
      />
      <Check value={rehearsal} onValue={setRehearsal}>
        {say.box.asRehearsal}
      </Check>
      <div class="actions end">
        <Button kind="danger" disabled={!file} onClick={() => setAsking(true)}>
          {say.box.restoreAsking}
        </Button>
      </div>
      {isAsking && file && (
        <RestoreDialog
          file={file}
          given={{ password, rehearsal }}
          onRestored={end}
          onClose={() => setAsking(false)}
        />
      )}
    </Card>
  );
}

function RestoreDialog({
  file,
  given,
  onRestored,
  onClose,
}: {
  file: File;
  given: { password: string; rehearsal: boolean };
  onRestored: (restored: Restored) => void;
  onClose: () => void;
}) {
  const [share, setShare] = useState(0);
  const leaving = useRef(new AbortController());
  // Closing the dialog during the upload cancels the restore.
  useEffect(() => () => leaving.current.abort(), []);
  const action = useAction(async () => {
    setShare(0);
    await sendFile('/v3/backup/upload', file, setShare, leaving.current.signal);
    onRestored(await callFor('restore', 'POST', '/v3/backup/restore', given, 'changes', CHECK_MAX_MS));
  });
  // The gateway goes on without the page from here.
  const isTooLate = action.isBusy && share === 1;
  return (
    <Dialog title={say.box.restoreTitle(file.name)} onClose={() => !isTooLate && onClose()}>
      <Question
        text={
          <>
            <p>{say.box.restoreText}</p>
            {action.isBusy && <SentFileProgress sent={{ name: file.name, share }} />}
          </>
        }
        confirm={say.box.restore}
        isDangerous
        isBusy={action.isBusy}
        error={action.error}
        onConfirm={() => void action.start()}
        onClose={isTooLate ? undefined : onClose}
      />
    </Dialog>
  );
}
