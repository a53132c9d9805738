#!/usr/bin/env bash
# Gradescope runs this once, as root, when it builds the image.
set -euo pipefail
cd /autograder/source
chmod 600 secret

# A Python that is new enough, and that can make environments.
find_python() {
    for python in python3 python3.14 python3.13 python3.12 python3.11; do
        if "$python" -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$python"
            return
        fi
    done
    false
}

find_python || {
    apt-get update
    apt-get install -y python3-venv
    find_python || apt-get install -y python3.11-venv
}
"$(find_python)" -m venv /autograder/python
/autograder/python/bin/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
