/** A place for a file: dropped on it, or chosen. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';

export function DropArea({
  onFile,
  accept,
  children,
}: {
  onFile: (file: File) => void;
  /** As the attribute of the control. */
  accept: string;
  children: ComponentChildren;
}) {
  const [isOver, setOver] = useState(false);
  const take = (file: File | undefined): void => {
    setOver(false);
    if (file) onFile(file);
  };
  return (
    <label
      class={isOver ? 'drop over' : 'drop'}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        // Otherwise the browser would open the file.
        event.preventDefault();
        take(event.dataTransfer?.files[0]);
      }}
    >
      <input
        type="file"
        accept={accept}
        onChange={({ currentTarget: input }) => {
          take(input.files?.[0]);
          // Otherwise choosing the same file again, corrected meanwhile, would change nothing.
          input.value = '';
        }}
      />
      <span>{children}</span>
    </label>
  );
}
