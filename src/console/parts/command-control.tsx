/** A command as a control: a switch, a slider, a choice, or a button that is named by it. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { numberText, showValue, shownUnit } from '../format.ts';
import type { LiveDevice } from '../live.ts';
import { Button, Dialog, ErrorNotice, Question, Select, useAction } from '../ui.tsx';
import { outcomeOf } from './run-command.ts';
import { type CommandKind, kindOf, shownBy } from './command-kind.ts';
import { usePart } from './whole-device.ts';
import type { Command } from '../shapes.ts';
import { say } from '../words/index.ts';

const SETTLED_AFTER_MS = 500;

interface ControlProps {
  live: LiveDevice;
  name: string;
  command: Command;
}

type Of<Kind extends CommandKind['kind']> = Extract<CommandKind, { kind: Kind }>;

interface Given<Kind extends CommandKind['kind']> extends ControlProps {
  kind: Of<Kind>;
  /** As the device has reported it. */
  known: unknown;
  isBusy: boolean;
  onValue: (value: unknown) => void;
}

/** Whether a command needs no form. One that fills its form with the present settings has one. */
export const hasControl = (command: Command): boolean =>
  kindOf(command) !== undefined && command.populate_values_command === undefined;

export function CommandControl(props: ControlProps) {
  const { live, name, command } = props;
  const kind = kindOf(command);
  const [asked, setAsked] = useState<{ value: unknown } | undefined>(undefined);
  const argument = kind && 'argument' in kind ? kind.argument : undefined;
  const shown =
    argument === undefined || !live.manifest
      ? undefined
      : shownBy(name, argument, command.arguments?.[argument] ?? { type: 'string' }, live.manifest);
  const known = usePart(
    live,
    ({ values }) => (shown === undefined ? undefined : values.get(shown)?.value),
    shown,
  );
  const isOnline = usePart(live, ({ device }) => device.connectivity?.status === 'ONLINE');
  const action = useAction((value: unknown) =>
    outcomeOf(live.device.id, name, argument === undefined ? {} : { [argument]: value }),
  );
  const { confirmation } = command;
  const give = (value: unknown): void => {
    if (confirmation) setAsked({ value });
    else void action.start(value);
  };
  const given = { ...props, known, isBusy: action.isBusy || !isOnline, onValue: give };
  return (
    <div class="control" aria-busy={action.isBusy}>
      {kind?.kind === 'button' && (
        <Button disabled={given.isBusy} onClick={() => give(undefined)} data-command={name}>
          {confirmation ? say.devices.asking(command.display_name) : command.display_name}
        </Button>
      )}
      {kind?.kind === 'switch' && <Switch {...given} kind={kind} />}
      {kind?.kind === 'select' && <Choice {...given} kind={kind} />}
      {kind?.kind === 'slider' && <Slider {...given} kind={kind} />}
      <span class="hint" role="status">
        {action.isBusy ? say.devices.onItsWay : action.isDone ? say.devices.done : ''}
      </span>
      <ErrorNotice error={action.error} />
      {asked && confirmation && (
        <Dialog title={confirmation.title} onClose={() => setAsked(undefined)}>
          <Question
            text={confirmation.description}
            confirm={command.display_name}
            isDangerous={confirmation.severity === 'warning'}
            onConfirm={() => {
              setAsked(undefined);
              void action.start(asked.value);
            }}
            onClose={() => setAsked(undefined)}
          />
        </Dialog>
      )}
    </div>
  );
}

function Switch({ name, command, kind, known, isBusy, onValue }: Given<'switch'>) {
  const { display_name: text } = command;
  if (known === undefined || known === null)
    // Its state is not known: both may be wanted.
    return (
      <span class="together">
        <Button disabled={isBusy} aria-label={say.devices.turnOn(text)} onClick={() => onValue(kind.on)}>
          {say.devices.on}
        </Button>
        <Button disabled={isBusy} aria-label={say.devices.turnOff(text)} onClick={() => onValue(kind.off)}>
          {say.devices.off}
        </Button>
      </span>
    );
  const isOn = known === true || known === 1 || known === kind.on;
  return (
    <button
      type="button"
      role="switch"
      class="switch"
      aria-checked={isOn}
      aria-label={text}
      disabled={isBusy}
      data-command={name}
      onClick={({ detail: count }) => count < 2 && onValue(isOn ? kind.off : kind.on)}
    >
      <i aria-hidden="true" />
    </button>
  );
}

function Choice({ name, command, kind, known, isBusy, onValue }: Given<'select'>) {
  const [chosen, setChosen] = useState<string | undefined>(undefined);
  const { choices } = kind;
  const now = choices.find(({ value }) => value === known);
  const value = chosen ?? String(now?.value ?? '');
  const wanted = choices.find((one) => String(one.value) === value);
  return (
    <span class="together" data-command={name}>
      <Select
        aria-label={command.display_name}
        value={value}
        onValue={setChosen}
        choices={[
          ...(now ? [] : [{ value: '', text: say.everywhere.choose }]),
          ...choices.map((one) => ({ value: String(one.value), text: one.text })),
        ]}
      />
      {/* By itself a choice would be given with each arrow key, on the way to the one that is wanted. */}
      <Button disabled={isBusy || !wanted || wanted === now} onClick={() => wanted && onValue(wanted.value)}>
        {say.devices.set}
      </Button>
    </span>
  );
}

function Slider({ live, name, command, kind, known, isBusy, onValue }: Given<'slider'>) {
  const [typed, setTyped] = useState<number | undefined>(undefined);
  const settling = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(settling.current), []);
  const declared = command.arguments?.[kind.argument];
  const reported = typeof known === 'number' ? known : undefined;
  const preset = typeof declared?.default === 'number' ? declared.default : kind.min;
  const value = typed ?? reported ?? preset;
  const unit = shownUnit(unitIn(declared?.display_name), live.manifest);
  const shown = shownBy(
    name,
    kind.argument,
    declared ?? { type: 'float' },
    live.manifest ?? { telemetry: {} },
  );
  const now =
    shown === undefined
      ? undefined
      : showValue(reported, live.manifest?.telemetry[shown], live.manifest, shown);
  return (
    <span class="slider" data-command={name}>
      <output>
        <b>{numberText(value)}</b> <small>{unit}</small>
      </output>
      <input
        type="range"
        aria-label={command.display_name}
        aria-valuetext={`${numberText(value)} ${unit}`}
        min={kind.min}
        max={kind.max}
        step={kind.step}
        value={value}
        disabled={isBusy}
        onInput={({ currentTarget }) => setTyped(Number(currentTarget.value))}
        // It is given when it is let go; each arrow key lets it go, so the last of several counts.
        onChange={({ currentTarget }) => {
          const wanted = Number(currentTarget.value);
          clearTimeout(settling.current);
          settling.current = setTimeout(() => onValue(wanted), SETTLED_AFTER_MS);
        }}
      />
      {now && reported !== undefined && (
        <small class="hint">{say.devices.atDevice(`${now.text} ${now.unit}`.trim())}</small>
      )}
    </span>
  );
}

/** `Current (A)` is how the library names an argument with its unit. */
const unitIn = (text = ''): string => (text.endsWith(')') ? text.slice(text.lastIndexOf('(') + 1, -1) : '');
