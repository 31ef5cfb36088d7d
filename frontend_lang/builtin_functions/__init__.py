"""What the builtins of `frontend_lang.builtins` do, by the kind of their arguments."""
