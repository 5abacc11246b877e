# MODULE URL MODEL: runs each function `check_...` of the module with the server's URL and the model.
import importlib
import sys
import traceback

module, url, model = sys.argv[1:]
checks = {name: check for name, check in vars(importlib.import_module(module)).items() if name.startswith("check_")}
failed = 0
for name, check in checks.items():
    try:
        check(url, model)
    except Exception:
        failed += 1
        print(f"{name}:\n{traceback.format_exc()}", file=sys.stderr)
sys.exit(1 if failed or not checks else 0)
