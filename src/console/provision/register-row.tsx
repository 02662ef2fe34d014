/** One value of the register browser: where it is, what it is now, and what it shall be called. */
import { registersOf } from '../../lib/register-words.ts';
import { numberText } from '../format.ts';
import { DECIMAL } from '../typed-number.ts';
import { Button, InputField, SelectField } from '../ui.tsx';
import { say } from '../words/later.ts';
import {
  factorOf,
  isText,
  type Part,
  registerOf,
  type RegisterRow,
  ROLES,
  UNITS,
  usesOf,
  valueOf,
  WORD_TYPES,
} from './template-text.ts';

const same = <Value extends string>(values: readonly Value[]): { value: Value; text: string }[] =>
  values.map((value) => ({ value, text: value === '' ? '–' : value }));

const PARTS: readonly { value: Part; text: string }[] = [
  { value: '', text: '–' },
  ...ROLES.flatMap((role) =>
    usesOf(role).map((use) => ({
      value: `${role} ${use}` as const,
      text: say.adding.registers.partOf(say.site.role[role], say.adding.registers.use[use]),
    })),
  ),
];

interface RowProps {
  row: RegisterRow;
  /** Undefined: not read yet; null: the device gave none. */
  words: readonly number[] | null | undefined;
  onChange: (part: Partial<RegisterRow>) => void;
  onRemove: () => void;
}

export function RowFields({ row, words, onChange, onRemove }: RowProps) {
  return (
    <li>
      <div class="register">
        <WireFields row={row} onChange={onChange} />
        <MeaningFields row={row} onChange={onChange} />
      </div>
      <div class="actions">
        <output>{shown(row, words)}</output>
        <Button onClick={onRemove}>{say.everywhere.remove}</Button>
      </div>
    </li>
  );
}

/** Where the value is, and how its words are read. */
function WireFields({ row, onChange }: Pick<RowProps, 'row' | 'onChange'>) {
  const text = say.adding.registers;
  return (
    <>
      <SelectField
        label={text.function}
        name="function"
        value={row.function}
        onValue={(value) => onChange({ function: value })}
        choices={[
          { value: 'HOLDING', text: text.holding },
          { value: 'INPUT', text: text.input },
        ]}
      />
      <InputField
        label={text.register}
        name="register"
        type="number"
        min={0}
        max={65_535}
        step={1}
        value={row.address}
        onValue={(value) => onChange({ address: value })}
        aria-invalid={registerOf(row) === undefined}
      />
      <SelectField
        label={text.type}
        name="type"
        value={row.type}
        onValue={(value) => onChange({ type: value })}
        choices={same(WORD_TYPES)}
      />
      {!isText(row.type) && registersOf(row.type) > 1 && (
        <SelectField
          label={text.order}
          name="order"
          value={row.isLowFirst ? 'low' : 'high'}
          onValue={(value) => onChange({ isLowFirst: value === 'low' })}
          choices={[
            { value: 'high', text: text.highFirst },
            { value: 'low', text: text.lowFirst },
          ]}
        />
      )}
    </>
  );
}

/** What the value means, and what it shall be called. */
function MeaningFields({ row, onChange }: Pick<RowProps, 'row' | 'onChange'>) {
  const text = say.adding.registers;
  const isNumber = !isText(row.type);
  return (
    <>
      {isNumber && (
        <InputField
          label={text.factor}
          name="factor"
          {...DECIMAL}
          placeholder="1"
          value={row.factor}
          onValue={(value) => onChange({ factor: value })}
          aria-invalid={factorOf(row.factor) === undefined}
        />
      )}
      <InputField
        label={say.everywhere.name}
        name="title"
        maxLength={60}
        value={row.title}
        onValue={(value) => onChange({ title: value })}
      />
      {isNumber && (
        <SelectField
          label={text.unitOfValue}
          name="unit_of_value"
          value={row.unit}
          onValue={(value) => onChange({ unit: value })}
          choices={same(UNITS)}
        />
      )}
      {isNumber && (
        <SelectField
          label={text.part}
          name="part"
          value={row.part}
          onValue={(value) => onChange({ part: value })}
          choices={PARTS}
        />
      )}
    </>
  );
}

function shown(row: RegisterRow, words: RowProps['words']): string {
  if (words === undefined) return '–';
  if (words === null) return say.adding.registers.noAnswer;
  const value = valueOf(row, words);
  if (value === undefined) return '–';
  const raw = words.map((word) => word.toString(16).toUpperCase().padStart(4, '0')).join(' ');
  const now = typeof value === 'string' ? value : `${numberText(value)} ${row.unit}`.trim();
  return `${now} (${raw})`;
}
