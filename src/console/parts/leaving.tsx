/** The question before a page with unsent input is left. */
import { wayOut } from '../route.ts';
import { say } from '../words/index.ts';
import { Dialog, giveUpTyped, Question } from '../ui.tsx';

export function Leaving() {
  const leave = wayOut.value;
  if (!leave) return null;
  const stay = (): void => {
    wayOut.value = undefined;
  };
  return (
    <Dialog title={say.frame.leaveTitle} onClose={stay}>
      <Question
        text={say.frame.typedIsLost}
        confirm={say.frame.leave}
        onConfirm={() => {
          giveUpTyped();
          leave();
        }}
        onClose={stay}
      />
    </Dialog>
  );
}
