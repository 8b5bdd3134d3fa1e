import type { OperatorAccount } from "@hearth-and-keep/vault-contract";

const statuses = {
  active: { label: "Active", className: "badge success" },
  suspended: { label: "Suspended", className: "badge danger" },
  paused: { label: "Paused", className: "badge warning" },
} as const;

export function AccountStatus({ account: { status } }: { readonly account: OperatorAccount }) {
  const { label, className } = statuses[status];
  return <span className={className}>{label}</span>;
}
