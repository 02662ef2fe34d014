/** One value of the register browser: where it is, what it is now, and what it shall be called. */
import { numberText } from '../format.ts';
import { Button, InputField, SelectField } from '../ui.tsx';
import { say } from '../words/later.ts';
import { MeaningFields, same } from './meaning-fields.tsx';
import {
  countOf,
  FUNCTIONS,
  isBit,
  isNumber,
  registerOf,
  type RegisterRow,
  valueOf,
  WORD_TYPES,
} from './register-template.ts';

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
        <MeaningFields row={row} isNumber={isNumber(row)} onChange={onChange} />
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
        choices={FUNCTIONS.map((value) => ({ value, text: text.functionOf[value] }))}
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
      {!isBit(row) && (
        <SelectField
          label={text.type}
          name="type"
          value={row.type}
          onValue={(value) => onChange({ type: value })}
          choices={same(WORD_TYPES)}
        />
      )}
      {isNumber(row) && countOf(row) > 1 && (
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

function shown(row: RegisterRow, words: RowProps['words']): string {
  if (words === undefined) return '–';
  if (words === null) return say.adding.registers.noAnswer;
  const value = valueOf(row, words);
  if (value === undefined) return '–';
  if (isBit(row)) return String(value);
  const raw = words.map((word) => word.toString(16).toUpperCase().padStart(4, '0')).join(' ');
  const now = typeof value === 'string' ? value : `${numberText(value)} ${row.unit}`.trim();
  return `${now} (${raw})`;
}
