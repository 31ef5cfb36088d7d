"""The classes of the syntax tree, by kind. Users import them from `frontend_lang.syntax.ast`."""
