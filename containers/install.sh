#!/bin/sh
# Installs Recolorist and the lab into a new environment. Both containers run this, and `make release-check` runs it without one.
#
#   install.sh SOURCE TARGET [EXTRAS]
#
# SOURCE is a clone or a wheel, TARGET the folder of the environment, EXTRAS what to install with it (default: lab,slides,dicom).
# TORCH_INDEX, if set, is where pip looks for torch first; PyTorch's own index has builds without CUDA there.
set -eu

source=$1
target=$2
extras=${3-lab,slides,dicom}
here=$(cd "$(dirname "$0")" && pwd)

python3 -m venv "$target"
pip() { "$target/bin/python" -m pip --disable-pip-version-check --no-cache-dir "$@"; }

if [ -n "${TORCH_INDEX-}" ]; then
  pip install --quiet --constraint "$here/lock.txt" --index-url "$TORCH_INDEX" torch torchvision
fi
if [ -n "$extras" ]; then
  pip install --quiet --constraint "$here/lock.txt" "recolorist[$extras] @ file://$(cd "$(dirname "$source")" && pwd)/$(basename "$source")"
else
  pip install --quiet --constraint "$here/lock.txt" "$source"
fi
"$target/bin/recolorist" doctor
