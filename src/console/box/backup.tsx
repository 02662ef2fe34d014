/** A backup file, from which another box can take the place of this one. */
import { useState } from 'preact/hooks';
import { callForFile } from '../api.ts';
import { Card, Form, useAction } from '../ui.tsx';
import { download } from '../ui/page-components.tsx';
import { differs, NewPassword, NOTHING_TYPED } from '../parts/new-password.tsx';
import { say } from '../words/later.ts';

export function BackupCard() {
  const [typed, setTyped] = useState(NOTHING_TYPED);
  const [fileName, setFileName] = useState('');
  const action = useAction(async () => {
    const { password } = typed;
    const { name, content } = await callForFile('POST', '/v3/backup', { password });
    download(name, content, 'application/octet-stream');
    setTyped(NOTHING_TYPED);
    setFileName(name);
  });
  return (
    <Card title={say.box.backup}>
      <p>{say.box.backupText}</p>
      <Form
        action={action}
        submit={say.box.saveBackup}
        isIncomplete={differs(typed)}
        done={say.box.backupSaved(fileName, <code>energy-gateway restore {fileName}</code>)}
      >
        <NewPassword
          label={say.box.filePassword}
          hint={say.box.filePasswordHint}
          prefix="backup_"
          typed={typed}
          onTyped={setTyped}
        />
      </Form>
    </Card>
  );
}
