/** The file with which another box takes the place of this one. */
import { useState } from 'preact/hooks';
import { callForFile } from '../api.ts';
import { Card, download, Form, useAction } from '../ui.tsx';
import { differs, NewPassword, NOTHING_TYPED } from '../parts/new-password.tsx';

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
    <Card title="Backup">
      <p>
        One file with which a new box goes on as this one: site, devices and their credentials, blueprints,
        rules, users and keys. Telemetry and logs are not in it.
      </p>
      <Form
        action={action}
        submit="Save backup"
        isIncomplete={differs(typed)}
        done={
          <p>
            {fileName} is saved. On the new box: <code>energy-gateway restore {fileName}</code>, then restart
            it.
          </p>
        }
      >
        <NewPassword
          label="Password of the file"
          hint="Without it nobody can open the file."
          prefix="backup_"
          typed={typed}
          onTyped={setTyped}
        />
      </Form>
    </Card>
  );
}
