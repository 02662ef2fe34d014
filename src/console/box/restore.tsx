/** Restores a backup in place of the state of this box. */
import { useState } from 'preact/hooks';
import { call, callFor } from '../api.ts';
import { momentText } from '../format.ts';
import { DropArea } from '../parts/drop-area.tsx';
import { AskButton, Card, InputField, Notice } from '../ui.tsx';
import { say } from '../words/index.ts';

export function RestoreCard() {
  const [file, setFile] = useState<File | undefined>(undefined);
  const [password, setPassword] = useState('');
  const [restored, setRestored] = useState<{ made_at: string | null } | undefined>(undefined);
  const restore = async (): Promise<void> => {
    await call('POST', '/v3/backup/upload', file);
    setRestored(await callFor('restore', 'POST', '/v3/backup/restore', { password }));
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
      <div class="actions end">
        <AskButton
          kind="danger"
          title={say.box.restoreTitle(file?.name)}
          text={say.box.restoreText}
          confirm={say.box.restore}
          disabled={!file}
          run={restore}
        >
          {say.box.restoreAsking}
        </AskButton>
      </div>
    </Card>
  );
}
