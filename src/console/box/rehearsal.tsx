/** Ends the rehearsal of a backup, after which this box takes the place of the original. */
import { useState } from 'preact/hooks';
import { call } from '../api.ts';
import { isRehearsal } from '../rehearsal.ts';
import { Button, Card, Dialog, Question, useAction } from '../ui.tsx';
import { say } from '../words/later.ts';

export function RehearsalCard() {
  const [isAsking, setAsking] = useState(false);
  const action = useAction(async () => {
    await call('POST', '/v3/backup/rehearsal/end');
    setAsking(false);
  });
  if (!isRehearsal()) return null;
  const close = (): void => setAsking(false);
  return (
    <Card title={say.box.rehearsal} data-test="rehearsal">
      <p>{say.box.rehearsalText}</p>
      <div class="actions end">
        <Button kind="danger" onClick={() => setAsking(true)}>
          {say.box.endRehearsalAsking}
        </Button>
      </div>
      {isAsking && (
        <Dialog title={say.box.endRehearsalTitle} onClose={close}>
          <Question
            text={<p>{say.box.endRehearsalText}</p>}
            confirm={say.box.endRehearsal}
            isDangerous
            isBusy={action.isBusy}
            error={action.error}
            onConfirm={() => void action.start()}
            onClose={close}
          />
        </Dialog>
      )}
    </Card>
  );
}
