"""`python -m radixkv` is the command `radixkv`."""

from radixkv.cli.main import main

main()
