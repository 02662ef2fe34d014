/** The file with which another box takes the place of this one. */
import { useState } from 'preact/hooks';
import { callForFile } from '../api.ts';
import { Button, Card, download, ErrorNotice, Field, Form, Input, Notice, useAction } from '../ui.tsx';

export function BackupCard() {
  const [password, setPassword] = useState('');
  const [repeated, setRepeated] = useState('');
  const [fileName, setFileName] = useState<string | undefined>(undefined);
  const isDifferent = repeated !== '' && repeated !== password;
  const action = useAction(async () => {
    setFileName(undefined);
    const { name, content } = await callForFile('POST', '/v3/backup', { password });
    download(name, content, 'application/octet-stream');
    setPassword('');
    setRepeated('');
    setFileName(name);
  });
  return (
    <Card title="Backup">
      <p>
        One file with which a new box goes on as this one: site, devices and their credentials, blueprints,
        rules, users and keys. Telemetry and logs are not in it.
      </p>
      <Form onSubmit={() => !isDifferent && action.start()}>
        <Field
          label="Password of the file"
          hint="At least 8 characters. Without it nobody can open the file."
        >
          <Input
            type="password"
            value={password}
            onValue={setPassword}
            required
            minLength={8}
            autocomplete="new-password"
            name="backup_password"
          />
        </Field>
        <Field label="The same again" hint={isDifferent ? 'The two differ.' : ''}>
          <Input
            type="password"
            value={repeated}
            onValue={setRepeated}
            required
            autocomplete="new-password"
            name="backup_repeated"
          />
        </Field>
        <ErrorNotice error={action.error} />
        {fileName !== undefined && (
          <Notice kind="success">
            <p>
              {fileName} is saved. On the new box: <code>energy-gateway restore {fileName}</code>, then
              restart it.
            </p>
          </Notice>
        )}
        <div class="actions end">
          <Button kind="primary" type="submit" disabled={action.isBusy || isDifferent}>
            Save backup
          </Button>
        </div>
      </Form>
    </Card>
  );
}
