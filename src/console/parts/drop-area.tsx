/** A place for a file: dropped on it, or chosen. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

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
  const place = useRef<HTMLLabelElement>(null);
  const take = (file: File | undefined): void => {
    setOver(false);
    if (file) onFile(file);
  };
  const latest = useRef(take);
  latest.current = take;
  // A file that was dropped beside the only place for one is meant for it.
  useEffect(() => {
    const dropped = (event: DragEvent): void => {
      if (document.querySelectorAll('.drop').length > 1) return;
      if (place.current?.contains(event.target as Node) !== true)
        latest.current(event.dataTransfer?.files[0]);
    };
    addEventListener('drop', dropped);
    return () => removeEventListener('drop', dropped);
  }, []);
  return (
    <label
      ref={place}
      class={isOver ? 'drop over' : 'drop'}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        // Prevents the browser from opening the file.
        event.preventDefault();
        take(event.dataTransfer?.files[0]);
      }}
    >
      <input
        type="file"
        accept={accept}
        onChange={({ currentTarget: input }) => {
          take(input.files?.[0]);
          // Allows choosing the same file again after it was corrected.
          input.value = '';
        }}
      />
      <span>{children}</span>
    </label>
  );
}
