export type TileProps = { readonly name: string; readonly value: string; readonly detail?: string };

/** One number in a `<dl className="tiles">`. */
export function Tile({ name, value, detail }: TileProps) {
  return (
    <div className="card tile">
      <dt>{name}</dt>
      <dd>{value}</dd>
      {detail !== undefined && <dd className="tile-detail">{detail}</dd>}
    </div>
  );
}
