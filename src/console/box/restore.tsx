/** A backup in the place of what this box is. */
import { useState } from 'preact/hooks';
import { call } from '../api.ts';
import { momentText } from '../format.ts';
import { DropArea } from '../parts/drop-area.tsx';
import { AskButton, Card, Field, Input, Notice } from '../ui.tsx';

interface Restored {
  made_at: string | null;
}

export function RestoreCard() {
  const [file, setFile] = useState<File | undefined>(undefined);
  const [password, setPassword] = useState('');
  const [restored, setRestored] = useState<Restored | undefined>(undefined);
  const restore = async (): Promise<void> => {
    await call('POST', '/v3/backup/upload', file);
    const answer = await call<{ restore: Restored }>('POST', '/v3/backup/restore', { password });
    setRestored(answer.restore);
  };
  return (
    <Card title="Restore" data-test="restore">
      {restored && (
        <Notice kind="success">
          <p>
            The gateway starts again with the backup
            {restored.made_at !== null && ` of ${momentText(restored.made_at)}`}. Users and passwords are
            those of the backup.
          </p>
        </Notice>
      )}
      <DropArea accept=".backup,.db,application/octet-stream" onFile={setFile}>
        {file ? file.name : 'Drop a backup here, or choose one…'}
      </DropArea>
      <Field label="Its password" hint="A copy of state.db has none.">
        <Input
          type="password"
          value={password}
          onValue={setPassword}
          name="restore_password"
          autocomplete="off"
        />
      </Field>
      <div class="actions end">
        <AskButton
          kind="danger"
          title={`Put ${file?.name ?? 'it'} in the place of this box?`}
          text="Site, devices, rules, users and tokens become those of the backup, and the gateway starts again. What is here now is kept beside it in the data folder."
          confirm="Restore"
          disabled={!file}
          run={restore}
        >
          Restore…
        </AskButton>
      </div>
    </Card>
  );
}
