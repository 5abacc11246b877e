export declare const PYTHON_CLIENTS: readonly string[];
export declare const pypiFolder: string;
export declare function environmentOf(requirements: readonly string[]): string;
export declare function completeMark(environment: string): string;
export declare function noPypi(tier: string, requirements?: readonly string[]): string | undefined;
