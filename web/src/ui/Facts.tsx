import "./facts.css";

/** Short facts about an object, as names with values. Its children are `Fact`. */
export function Facts({ children }: { children: React.ReactNode }) {
  return <dl className="fl-facts">{children}</dl>;
}

export function Fact({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd className="fl-name">{children}</dd>
    </div>
  );
}
