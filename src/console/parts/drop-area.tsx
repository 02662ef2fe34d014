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
        // Else the browser would go to the file.
        event.preventDefault();
        take(event.dataTransfer?.files[0]);
      }}
    >
      <input
        type="file"
        accept={accept}
        onChange={({ currentTarget: input }) => {
          take(input.files?.[0]);
          // Else the same file, mended meanwhile, would not be another choice.
          input.value = '';
        }}
      />
      <span>{children}</span>
    </label>
  );
}
