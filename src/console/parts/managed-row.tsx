/** A row in a list of configured things: name, state, and buttons to test, change, switch and delete it. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { call, callFor, remove } from '../api.ts';
import { AskButton, Button, Dialog, ErrorNotice, Notice, useAction } from '../ui.tsx';
import { say } from '../words/index.ts';

/** The outcome of a test, in a sentence. */
export interface Tried {
  isGood: boolean;
  text: string;
}

/** Has the gateway test the thing at an address, which changes nothing. */
export const testAt = <Found,>(address: string): Promise<Found> =>
  callFor('test', 'POST', `${address}/test`, undefined, 'reads');

interface ManagedRowProps {
  name: string;
  /** Where the API has it. */
  address: string;
  /** Absent: it cannot be switched on and off. */
  isEnabled?: boolean;
  /** Below its name. */
  children: ComponentChildren;
  /** It is shown without buttons. */
  isReadOnly?: boolean;
  test: () => Promise<Tried>;
  /** Below everything else, beside the buttons. */
  more?: ComponentChildren;
  /** Its form; absent: it cannot be changed. */
  form?: (onDone: () => void) => ComponentChildren;
  /** Data that is lost when it is deleted; absent: it cannot be deleted here. */
  deleting?: string | undefined;
}

export function ManagedRow(props: ManagedRowProps) {
  const { name, isEnabled = true, children, isReadOnly = false, form } = props;
  const [isChanging, setChanging] = useState(false);
  const [tried, setTried] = useState<Tried | undefined>(undefined);
  const testing = useAction(async () => {
    setTried(undefined);
    setTried(await props.test());
  });
  const change = (): void => {
    // Forgets the result of an earlier test when the input changes.
    setTried(undefined);
    setChanging(true);
  };
  return (
    <li>
      <span>
        <b>{name}</b>
        {!isEnabled && say.everywhere.switchedOff}
        {children}
      </span>
      {!isReadOnly && (
        <div class="actions">
          <Button action={testing} aria-label={say.everywhere.testName(name)}>
            {testing.isBusy ? say.everywhere.testing : say.everywhere.test}
          </Button>
          {form && (
            <Button aria-label={say.everywhere.changeName(name)} onClick={change}>
              {say.everywhere.change}
            </Button>
          )}
          <Switch {...props} />
          <Delete {...props} />
        </div>
      )}
      <ErrorNotice error={testing.error} />
      {tried && <Notice kind={tried.isGood ? 'success' : 'warning'}>{tried.text}</Notice>}
      {!isReadOnly && props.more}
      {isChanging && form && (
        <Dialog title={say.everywhere.changeName(name)} onClose={() => setChanging(false)}>
          {form(() => setChanging(false))}
        </Dialog>
      )}
    </li>
  );
}

function Switch({ name, address, isEnabled }: ManagedRowProps) {
  const switching = useAction(() => call('PATCH', address, { enabled: isEnabled !== true }));
  if (isEnabled === undefined) return null;
  return (
    <>
      <Button
        isSwitch
        action={switching}
        aria-label={isEnabled ? say.everywhere.switchOff(name) : say.everywhere.switchOn(name)}
      >
        {isEnabled ? say.everywhere.off : say.everywhere.on}
      </Button>
      <ErrorNotice error={switching.error} />
    </>
  );
}

function Delete({ name, address, deleting }: ManagedRowProps) {
  if (deleting === undefined) return null;
  return (
    <AskButton
      title={say.everywhere.deleteTitle(name)}
      text={deleting}
      confirm={say.everywhere.delete}
      aria-label={say.everywhere.deleteName(name)}
      run={() => remove(address)}
    >
      {say.everywhere.delete}
    </AskButton>
  );
}

/** A button that opens the form of a new one. */
export function AddButton({
  text,
  title,
  form,
}: {
  text: string;
  title: string;
  form: (onDone: () => void) => ComponentChildren;
}) {
  const [isAdding, setAdding] = useState(false);
  const close = (): void => setAdding(false);
  return (
    <>
      <Button kind="primary" onClick={() => setAdding(true)}>
        {text}
      </Button>
      {isAdding && (
        <Dialog title={title} onClose={close}>
          {form(close)}
        </Dialog>
      )}
    </>
  );
}
