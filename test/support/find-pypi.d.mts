/** The requirements of each client, by the name of its checks. */
export type PythonEnvironment = Readonly<Record<string, string | readonly string[]>>;

export declare const PYTHON_ENVIRONMENTS: readonly PythonEnvironment[];
export declare const pypiFolder: string;
export declare function environmentOf(requirements: readonly (string | readonly string[])[]): string;
export declare function completeMark(environment: string): string;
export declare function noPypi(tier: string, environments?: readonly PythonEnvironment[]): string | undefined;
