/** Meaning and name of a value that was found at a device. */
import { DECIMAL } from '../typed-number.ts';
import { InputField, SelectField } from '../ui.tsx';
import { say } from '../words/later.ts';
import { factorOf, isInUnitOf, type Meaning, type Part, ROLES, UNITS, usesOf } from './template-text.ts';

export const same = <Value extends string>(values: readonly Value[]): { value: Value; text: string }[] =>
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

interface MeaningProps {
  row: Meaning;
  isNumber: boolean;
  onChange: (part: Partial<Meaning>) => void;
}

export function MeaningFields({ row, isNumber, onChange }: MeaningProps) {
  const text = say.adding.registers;
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
          onValue={(unit) => onChange({ unit, part: isInUnitOf(row.part, unit) ? row.part : '' })}
          choices={same(UNITS)}
        />
      )}
      {isNumber && (
        <SelectField
          label={text.part}
          name="part"
          value={row.part}
          onValue={(value) => onChange({ part: value })}
          choices={PARTS.filter(({ value }) => isInUnitOf(value, row.unit))}
        />
      )}
    </>
  );
}
