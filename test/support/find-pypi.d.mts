export declare const PYTHON_CLIENTS: Readonly<Record<string, string>>;
export declare const PYTHON_FRAMEWORKS: Readonly<Record<string, string>>;
export declare const pypiFolder: string;
export declare function environmentOf(requirements: readonly string[]): string;
export declare function completeMark(environment: string): string;
export declare function noPypi(
  tier: string,
  environments?: readonly Readonly<Record<string, string>>[],
): string | undefined;
