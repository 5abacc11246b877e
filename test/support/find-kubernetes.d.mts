export function kubernetesFolder(): string | undefined;
